#pragma once

#include "engine/base/host_device.h"

// Inlined even where optimization is off, so that a loop and all it calls are compiled for the
// same instruction set.
#define HEDDLE_INLINE HEDDLE_HOST_DEVICE inline __attribute__((always_inline))
#define HEDDLE_INLINE_LAMBDA __attribute__((always_inline))

// The iterations of the loop that follows are independent: operands may be the output itself, but
// never a shifted part of it.
#if defined(__clang__)
#define HEDDLE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HEDDLE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace heddle::ops {

#if defined(__x86_64__)

// prfchw is a hint that processors without it pass over.
template <class Loop, class... Args>
__attribute__((target("avx2,fma,prfchw"))) void run_avx2(const Loop& loop, Args... args) {
  loop(args...);
}

/// Calls loop(args...), an HEDDLE_INLINE_LAMBDA without captures, compiled for the widest vectors
/// that the processor has. The build forbids contraction to fused multiply-add, so the choice
/// changes no bit. Arguments go by value: a store through them cannot change another one.
template <class Loop, class... Args>
void vectorized(const Loop& loop, Args... args) {
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    run_avx2(loop, args...);
  } else {
    loop(args...);
  }
}

#else

template <class Loop, class... Args>
void vectorized(const Loop& loop, Args... args) {
  loop(args...);
}

#endif

}  // namespace heddle::ops
