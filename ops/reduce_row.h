#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "ops/element.h"

namespace heddle::ops {

/// Accumulators of one row, and columns worked on together. The order of additions depends on
/// nothing else, so it is the same for every instruction set.
constexpr std::int64_t kLanes = 32;

template <class T>
struct Sum {
  using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  using Result = std::conditional_t<std::is_floating_point_v<T>, T, std::int64_t>;
  static constexpr Accumulator kStart = 0;
  static HEDDLE_INLINE Accumulator widen(T x) { return static_cast<Accumulator>(x); }
  static HEDDLE_INLINE Accumulator join(Accumulator a, Accumulator b) { return plus(a, b); }
  static HEDDLE_INLINE Result finish(Accumulator a, std::int64_t) { return static_cast<Result>(a); }
};

template <class T>
struct Mean : Sum<T> {
  static HEDDLE_INLINE T finish(double a, std::int64_t n) {
    return static_cast<T>(a / static_cast<double>(n));
  }
};

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
  return T{};
}

template <class T>
constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
  return T{1};
}

template <class T>
struct Max {
  using Accumulator = T;
  using Result = T;
  static constexpr T kStart = lowest<T>();
  static HEDDLE_INLINE T widen(T x) { return x; }
  static HEDDLE_INLINE T join(T a, T b) { return a > b || a != a ? a : b; }
  static HEDDLE_INLINE T finish(T a, std::int64_t) { return a; }
};

template <class T>
struct Min : Max<T> {
  static constexpr T kStart = highest<T>();
  static HEDDLE_INLINE T join(T a, T b) { return a < b || a != a ? a : b; }
};

/// Reduces n elements that lie side by side.
template <class R, class T>
HEDDLE_INLINE typename R::Accumulator reduce_row(const T* row, std::int64_t n) {
  using Accumulator = typename R::Accumulator;
  if (n < kLanes) {
    Accumulator total = R::kStart;
    for (std::int64_t i = 0; i < n; ++i) total = R::join(total, R::widen(row[i]));
    return total;
  }
  Accumulator lanes[kLanes];
  for (Accumulator& lane : lanes) lane = R::kStart;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] = R::join(lanes[k], R::widen(row[i + k]));
  }
  for (std::int64_t k = 0; i + k < n; ++k) lanes[k] = R::join(lanes[k], R::widen(row[i + k]));
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t k = 0; k < width; ++k) lanes[k] = R::join(lanes[k], lanes[k + width]);
  }
  return lanes[0];
}

}  // namespace heddle::ops
