#pragma once

#include "heddle/dtype.h"

#include "ops/element.h"

namespace heddle::kvstore {

/// operator+ of arrays, for one element.
template <class T>
HEDDLE_INLINE T add(T a, T b) {
  return ops::plus(a, b);
}
HEDDLE_INLINE float16 add(float16 a, float16 b) {
  return float16(static_cast<float>(a) + static_cast<float>(b));
}
HEDDLE_INLINE bfloat16 add(bfloat16 a, bfloat16 b) {
  return bfloat16(static_cast<float>(a) + static_cast<float>(b));
}

}  // namespace heddle::kvstore
