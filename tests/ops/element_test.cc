#include "ops/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>

namespace {

/// The greatest error in units of the last place, over floats of all sizes between the limits.
template <class F, class Reference>
double greatest_error(F f, Reference reference, float low, float high) {
  double greatest = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32U; bits += 10007) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double expected = reference(static_cast<double>(x));
    const int exponent = std::max(expected == 0 ? -126 : std::ilogb(expected), -126);
    const double error = std::abs(static_cast<double>(f(x)) - expected);
    greatest = std::max(greatest, error / std::ldexp(1.0, exponent - 23));
  }
  return greatest;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

namespace heddle::ops {

TEST_CASE("the float exponential is within 2 units in the last place") {
  const auto reference = [](double x) { return std::exp(x); };
  CHECK(greatest_error([](float x) { return exponential(x); }, reference, -110, 88.7F) < 2);
}

TEST_CASE("the float logarithm is within 2 units in the last place") {
  const auto reference = [](double x) { return std::log(x); };
  CHECK(greatest_error([](float x) { return logarithm(x); }, reference, 1e-45F, 3.4e38F) < 2);
}

TEST_CASE("the float hyperbolic tangent is within 2 units in the last place") {
  const auto reference = [](double x) { return std::tanh(x); };
  CHECK(greatest_error([](float x) { return hyperbolic_tangent(x); }, reference, -1e30F, 1e30F) <
        2);
}

TEST_CASE("the float functions have the limits of the real ones") {
  CHECK(exponential(kInfinity) == kInfinity);
  CHECK(exponential(89.0F) == kInfinity);
  CHECK(exponential(-kInfinity) == 0.0F);
  CHECK(logarithm(kInfinity) == kInfinity);
  CHECK(logarithm(0.0F) == -kInfinity);
  CHECK(hyperbolic_tangent(kInfinity) == 1.0F);
  CHECK(hyperbolic_tangent(-kInfinity) == -1.0F);
}

TEST_CASE("the float functions pass NaN on") {
  CHECK(std::isnan(exponential(kNaN)));
  CHECK(std::isnan(logarithm(kNaN)));
  CHECK(std::isnan(logarithm(-1.0F)));
  CHECK(std::isnan(hyperbolic_tangent(kNaN)));
}

}  // namespace heddle::ops
