#include <cstdint>
#include <functional>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::close;
using support::numeric_gradient;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

namespace {

constexpr DType kF64 = DType::kFloat64;

}  // namespace

TEST_CASE("fully_connected is x weight^T + bias") {
  const NDArray x = array({1, 2, 3, 4, 5, 6}, {2, 3});
  const NDArray weight = array({1, 0, 0, 0, 1, 1}, {2, 3});
  const NDArray bias = array({10, 20}, {2});
  CHECK(values(fully_connected(x, weight, bias)) == Values{11, 25, 14, 31});
}

TEST_CASE("fully_connected of any number of rows is exact where no product is rounded") {
  const std::int64_t rows = GENERATE(1, 5, 16, 60, 64, 65);
  const std::int64_t outputs = GENERATE(10, 256, 700);
  const std::int64_t inputs = GENERATE(100, 256, 300);
  const auto small = [](std::int64_t count, std::int64_t step) {
    Values result(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      result[static_cast<std::size_t>(i)] = static_cast<double>(i * step % 17 - 8);
    }
    return result;
  };
  const Values x = small(rows * inputs, 5);
  const Values weight = small(outputs * inputs, 3);
  const Values bias = small(outputs, 7);

  Values expected = small(rows * outputs, 0);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < outputs; ++j) {
      double& sum = expected[at(i * outputs + j)] = bias[at(j)];
      for (std::int64_t k = 0; k < inputs; ++k) {
        sum += x[at(i * inputs + k)] * weight[at(j * inputs + k)];
      }
    }
  }
  CHECK(values(fully_connected(array(x, {rows, inputs}), array(weight, {outputs, inputs}),
                               array(bias, {outputs}))) == expected);
}

TEST_CASE("fully_connected_backward gives the gradients of all three operands") {
  const Shape x_shape{4, 3};
  const Shape weight_shape{5, 3};
  const Shape bias_shape{5};
  const Values x = spread(12, 1, 1);
  const Values weight = spread(15, 1, 2);
  const Values bias = spread(5, 1, 3);
  const NDArray a = array(x, x_shape, kF64);
  const NDArray w = array(weight, weight_shape, kF64);
  const NDArray b = array(bias, bias_shape, kF64);
  const NDArray grad = array(spread(20, 1, 4), {4, 5}, kF64);
  const auto objective = [&](const NDArray& y) { return sum(y * grad); };

  const FullyConnectedGradients gradients = fully_connected_backward(grad, a, w);

  const auto of_x = [&](const NDArray& v) { return objective(fully_connected(v, w, b)); };
  const auto of_weight = [&](const NDArray& v) { return objective(fully_connected(a, v, b)); };
  const auto of_bias = [&](const NDArray& v) { return objective(fully_connected(a, w, v)); };
  CHECK(close(values(gradients.data), numeric_gradient(of_x, x_shape, x), 1e-6));
  CHECK(close(values(gradients.weight), numeric_gradient(of_weight, weight_shape, weight), 1e-6));
  CHECK(close(values(gradients.bias), numeric_gradient(of_bias, bias_shape, bias), 1e-6));
}

TEST_CASE("the data gradient is made only if it is needed") {
  const NDArray x = NDArray::ones({2, 3}, Device::cpu());
  const NDArray weight = NDArray::ones({4, 3}, Device::cpu());
  const NDArray grad = NDArray::ones({2, 4}, Device::cpu());
  const FullyConnectedGradients gradients = fully_connected_backward(grad, x, weight, false);
  CHECK_FALSE(gradients.data);
  CHECK(values(gradients.bias) == Values(4, 2.0));
  CHECK(values(gradients.weight) == Values(12, 2.0));
}

TEST_CASE("fully_connected refuses shapes that do not fit") {
  const NDArray x = NDArray::ones({2, 3}, Device::cpu());
  const NDArray weight = NDArray::ones({4, 3}, Device::cpu());
  CHECK(refusal([&] {
          fully_connected(x, NDArray::ones({4, 2}, Device::cpu()), x);
        }) == "[fully_connected] weight of shape (4, 2): expected (4, 3)");
  CHECK(refusal([&] { fully_connected(x, weight, NDArray::ones({3}, Device::cpu())); }) ==
        "[fully_connected] bias of shape (3): expected (4)");
  CHECK(refusal([&] { fully_connected(x.at(0), weight, x); }) ==
        "[fully_connected] x of shape (3): expected 2 dimensions");
  CHECK(refusal([&] { fully_connected_backward(x, x, weight); }) ==
        "[fully_connected_backward] grad of shape (2, 3): expected (2, 4)");
}

}  // namespace heddle
