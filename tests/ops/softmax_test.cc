#include <cmath>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::close;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

TEST_CASE("softmax is taken along the last axis") {
  const Values x = spread(2 * 3 * 40, 4);
  Values expected;
  for (std::size_t row = 0; row < 6; ++row) {
    double total = 0;
    for (std::size_t i = 0; i < 40; ++i) total += std::exp(x[row * 40 + i]);
    for (std::size_t i = 0; i < 40; ++i) expected.push_back(std::exp(x[row * 40 + i]) / total);
  }
  CHECK(close(values(softmax(array(x, {2, 3, 40}))), expected, 1e-6));
  CHECK(close(values(softmax(array(x, {2, 3, 40}, DType::kFloat64))), expected, 1e-14));
}

TEST_CASE("softmax of great numbers neither overflows nor vanishes") {
  const NDArray x = array({1000, 1001, -1000, -1000}, {2, 2});
  const double ratio = std::exp(1.0);
  CHECK(close(values(softmax(x)), {1 / (1 + ratio), ratio / (1 + ratio), 0.5, 0.5}, 1e-6));
}

TEST_CASE("log_softmax is exact where softmax vanishes") {
  const NDArray x = array({0, -1000}, {1, 2});
  CHECK(close(values(log_softmax(x)), {0, -1000}, 1e-6));
  CHECK(close(values(log_softmax(array({3, 3, 3}, {3}))), Values(3, -std::log(3.0)), 1e-6));
}

TEST_CASE("softmax of a scalar is refused") {
  CHECK(refusal([] { softmax(NDArray::ones(Shape{}, Device::cpu())); }) ==
        "[softmax] shape (): expected at least 1 dimension");
}

}  // namespace heddle
