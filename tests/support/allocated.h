#pragma once

#include <cstddef>

#include <malloc.h>

namespace heddle::support {

/// Bytes that are allocated; 0 under a sanitizer, which looks for leaks itself.
inline std::size_t allocated() { return mallinfo2().uordblks; }

}  // namespace heddle::support
