#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heddle::base {

/// How the calling thread rounds and treats denormals and floating point exceptions. A thread
/// begins with what the thread that starts it has.
inline unsigned float_control() {
#if defined(__x86_64__)
  return _mm_getcsr() & ~unsigned{_MM_EXCEPT_MASK};
#else
  return 0;
#endif
}

}  // namespace heddle::base
