#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "heddle/dtype.h"
#include "heddle/scalar.h"

#include "engine/base/host_device.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"

namespace heddle::detail {

template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// Without the fraction. NaN and what 64 bits cannot hold become the least number.
template <std::floating_point Real>
HEDDLE_HOST_DEVICE std::int64_t truncate(Real x) {
  constexpr Real kLimit = 0x1p63;
  return x >= -kLimit && x < kLimit ? static_cast<std::int64_t>(x)
                                    : std::numeric_limits<std::int64_t>::min();
}

/// The float next to x whose last bit is 1, or x itself if it is a float: rounding the result to
/// fewer bits is then the same as rounding x.
HEDDLE_HOST_DEVICE inline float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest;
  if (back == x || std::isnan(x) || (bits & 1U) != 0) return nearest;
  return std::bit_cast<float>(std::abs(back) > std::abs(x) ? bits - 1 : bits + 1);
}

/// The conversion of NDArray::astype.
template <class To, class From>
HEDDLE_HOST_DEVICE To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Bool>) {
    return convert<To>(static_cast<std::uint8_t>(x));
  } else if constexpr (is_half_type<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{x != From{}};
  } else if constexpr (is_half_type<To> && std::is_same_v<From, float>) {
    return To(x);
  } else if constexpr (is_half_type<To>) {
    return To(round_to_odd(static_cast<double>(x)));
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    return static_cast<To>(truncate(x));
  } else {
    return static_cast<To>(x);
  }
}

/// Element i of an arange().
template <class To>
HEDDLE_HOST_DEVICE To progression_element(const Progression& p, std::int64_t i) {
  const auto steps = static_cast<std::uint64_t>(i);
  if (p.is_exact) return convert<To>(static_cast<std::int64_t>(p.origin + steps * p.stride));
  return convert<To>(p.start + static_cast<double>(i) * p.step);
}

template <class To>
To convert_scalar(Scalar x) {
  return x.is_integer() ? convert<To>(x.integer()) : convert<To>(x.real());
}

}  // namespace heddle::detail
