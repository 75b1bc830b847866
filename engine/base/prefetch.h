#pragma once

#include <cstddef>

namespace heddle::base {

constexpr std::size_t kCacheLine = 64;

/// Asks for the cache line of `place`, which another core may have, to write to it. The built-in
/// would ask for it to read unless the whole file is compiled for processors that have prefetchw;
/// others pass over the instruction, and all of them over null.
inline void prefetch_to_write(const void* place) {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(place));
#else
  __builtin_prefetch(place, 1);
#endif
}

/// Asks for the cache line of `place` to read it.
inline void prefetch_to_read(const void* place) { __builtin_prefetch(place); }

/// As prefetch_to_write() for lines `first` to `last` of an object.
inline void prefetch_lines(const void* object, std::size_t first, std::size_t last) {
  const auto* const bytes = static_cast<const char*>(object);
  for (std::size_t line = first; line <= last; ++line) prefetch_to_write(bytes + line * kCacheLine);
}

}  // namespace heddle::base
