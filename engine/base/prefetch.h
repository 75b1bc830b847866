#pragma once

#include <cstddef>

namespace heddle::base {

constexpr std::size_t kCacheLine = 64;

/// Asks for lines `first` to `last` of an object, which another thread had last, to write to them.
inline void prefetch_lines(const void* object, std::size_t first, std::size_t last) {
  const auto* const bytes = static_cast<const char*>(object);
  for (std::size_t line = first; line <= last; ++line) {
    __builtin_prefetch(bytes + line * kCacheLine, 1);
  }
}

}  // namespace heddle::base
