#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ndarray/bool.h"
#include "ops/vectorize.h"

// The functions of one element that the formulas of ops/ops.def are made of. The float versions are
// branch-free, so that loops over them vectorize; their errors are below 2 units in the last place.

namespace heddle::ops {

using detail::Bool;

template <std::floating_point T>
HEDDLE_INLINE T plus(T a, T b) {
  return a + b;
}
template <std::integral T>
HEDDLE_INLINE T plus(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
}
HEDDLE_INLINE Bool plus(Bool a, Bool b) { return a > b ? a : b; }

template <std::floating_point T>
HEDDLE_INLINE T minus(T x) {
  return -x;
}
template <std::integral T>
HEDDLE_INLINE T minus(T x) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(U{0} - static_cast<U>(x)));
}

template <std::floating_point T>
HEDDLE_INLINE T times(T a, T b) {
  return a * b;
}
template <std::integral T>
HEDDLE_INLINE T times(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<U>(static_cast<U>(a) * static_cast<U>(b)));
}
HEDDLE_INLINE Bool times(Bool a, Bool b) { return a < b ? a : b; }

template <std::floating_point T>
HEDDLE_INLINE T magnitude(T x) {
  return std::abs(x);
}
template <std::signed_integral T>
HEDDLE_INLINE T magnitude(T x) {
  return x < 0 ? minus(x) : x;
}
template <std::unsigned_integral T>
HEDDLE_INLINE T magnitude(T x) {
  return x;
}
HEDDLE_INLINE Bool magnitude(Bool x) { return x; }

template <std::floating_point T>
HEDDLE_INLINE T root(T x) {
  return std::sqrt(x);
}

inline constexpr float kLn2High = 0.693359375F;  // times a small integer: exact
inline constexpr float kLn2Low = -2.12194440e-4F;

/// 2^n for -126 <= n <= 127; other n give some number.
HEDDLE_INLINE float power_of_two(std::int32_t n) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23U);
}

/// e^x = 2^n e^r with |r| <= ln(2) / 2.
HEDDLE_INLINE float exponential(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = x > 89.0F ? 89.0F : x;               // comparisons that leave a NaN as it is
  x = x < -104.0F ? -104.0F : x;
  const float shifted = x * kLog2E + kRounder;
  const std::int32_t n = (std::bit_cast<std::int32_t>(shifted) & 0x7FFFFF) - 0x400000;
  const float whole = shifted - kRounder;
  const float r = (x - whole * kLn2High) - whole * kLn2Low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float y = p * (r * r) + r + 1.0F;
  // In two steps: the result may be denormal or infinite while neither factor is.
  const std::int32_t half = n >> 1;
  return y * power_of_two(half) * power_of_two(n - half);
}
HEDDLE_INLINE double exponential(double x) { return std::exp(x); }

/// log(x) = e ln(2) + log(1 + f) with 1 + f between the roots of 1/2 and 2.
HEDDLE_INLINE float logarithm(float x) {
  constexpr std::uint32_t kRootOfHalf = 0x3F3504F3;
  constexpr float kSmallest = 1.17549435e-38F;
  const bool tiny = x < kSmallest;
  const float scaled = tiny ? x * 8388608.0F : x;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(scaled) - kRootOfHalf;
  const float e = static_cast<float>((static_cast<std::int32_t>(bits) >> 23) - (tiny ? 23 : 0));
  const float f = std::bit_cast<float>((bits & 0x7FFFFF) + kRootOfHalf) - 1.0F;
  const float z = f * f;
  float p = 7.0376836292e-2F;
  p = p * f - 1.1514610310e-1F;
  p = p * f + 1.1676998740e-1F;
  p = p * f - 1.2420140846e-1F;
  p = p * f + 1.4249322787e-1F;
  p = p * f - 1.6668057665e-1F;
  p = p * f + 2.0000714765e-1F;
  p = p * f - 2.4999993993e-1F;
  p = p * f + 3.3333331174e-1F;
  float y = p * f * z + e * kLn2Low - 0.5F * z;
  y = (f + y) + e * kLn2High;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  y = x == kInfinity ? x : y;
  y = x == 0.0F ? -kInfinity : y;
  return x < 0.0F || x != x ? std::numeric_limits<float>::quiet_NaN() : y;
}
HEDDLE_INLINE double logarithm(double x) { return std::log(x); }

HEDDLE_INLINE float hyperbolic_tangent(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3F;
  p = p * z + 2.06390887954e-2F;
  p = p * z - 5.37397155531e-2F;
  p = p * z + 1.33314422036e-1F;
  p = p * z - 3.33332819422e-1F;
  const float near_zero = p * z * x + x;
  const float magnitude_of_x = std::abs(x);
  const float far = 1.0F - 2.0F / (exponential(2.0F * magnitude_of_x) + 1.0F);
  return magnitude_of_x < 0.625F ? near_zero : std::copysign(far, x);
}
HEDDLE_INLINE double hyperbolic_tangent(double x) { return std::tanh(x); }

}  // namespace heddle::ops
