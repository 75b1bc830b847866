#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/ndarray.h"
#include "heddle/ops.h"

namespace heddle::support {

using Values = std::vector<double>;

/// The elements of an array of any type.
inline Values values(const NDArray& x) { return x.astype(DType::kFloat64).to_vector<double>(); }

/// A float64 array converted to `dtype`.
inline NDArray array(const Values& elements, Shape shape, DType dtype = DType::kFloat32,
                     Device device = Device::cpu()) {
  return NDArray::from(elements, std::move(shape), device).astype(dtype);
}

/// n numbers that are spread over (-scale, scale) without a pattern; the same for the same seed.
inline Values spread(std::int64_t n, double scale = 1.0, std::uint64_t seed = 1) {
  Values result;
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    result.push_back(scale * (static_cast<double>(state >> 33U) * 0x1p-30 - 1.0));
  }
  return result;
}

/// Elements equal up to `tolerance`, relative to the greater of 1 and the expected value.
inline bool close(const Values& actual, const Values& expected, double tolerance) {
  if (actual.size() != expected.size()) return false;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double scale = std::max(1.0, std::abs(expected[i]));
    if (!(std::abs(actual[i] - expected[i]) <= tolerance * scale)) {
      UNSCOPED_INFO("element " << i << ": " << actual[i] << ", expected " << expected[i]);
      return false;
    }
  }
  return true;
}

/// d f / d x by central differences of a scalar function of float64 arrays.
inline Values numeric_gradient(const std::function<NDArray(const NDArray&)>& f, const Shape& shape,
                               const Values& x) {
  constexpr double kStep = 1e-5;
  Values gradient;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Values high = x;
    Values low = x;
    high[i] += kStep;
    low[i] -= kStep;
    const double above = f(array(high, shape, DType::kFloat64)).item<double>();
    const double below = f(array(low, shape, DType::kFloat64)).item<double>();
    gradient.push_back((above - below) / (2 * kStep));
  }
  return gradient;
}

/// The text of the std::invalid_argument that `call` throws.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace heddle::support
