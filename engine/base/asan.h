#pragma once

#include <cstddef>

// AddressSanitizer's manual poisoning, reduced to nothing in builds without it.

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ASAN 1
#endif
#endif

#if defined(HEDDLE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle::base {

#if defined(HEDDLE_ASAN)
inline constexpr bool kAddressSanitizer = true;
inline void poison(const void* begin, std::size_t bytes) noexcept {
  __asan_poison_memory_region(begin, bytes);
}
inline void unpoison(const void* begin, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(begin, bytes);
}
inline bool is_poisoned(const void* address) noexcept {
  return __asan_address_is_poisoned(address) != 0;
}
#else
inline constexpr bool kAddressSanitizer = false;
inline void poison(const void*, std::size_t) noexcept {}
inline void unpoison(const void*, std::size_t) noexcept {}
inline bool is_poisoned(const void*) noexcept { return false; }
#endif

}  // namespace heddle::base
