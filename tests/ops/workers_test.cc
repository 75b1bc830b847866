#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/random.h"

#include "tests/ops/arrays.h"

namespace heddle {

using support::Values;
using support::values;

namespace {

/// Trains a small network for a few steps. If `serial`, nothing overlaps.
Values train(Device device, bool serial) {
  const auto settle = [serial] {
    if (serial) Engine::get().wait_for_all();
  };
  random::seed(5);
  NDArray w1 = random::normal(0, 0.1, {32, 50}, device);
  NDArray w2 = random::normal(0, 0.1, {10, 32}, device);
  NDArray b1 = NDArray::zeros({32}, device);
  NDArray b2 = NDArray::zeros({10}, device);
  const NDArray m1 = NDArray::zeros(w1.shape(), device);
  const NDArray m2 = NDArray::zeros(w2.shape(), device);
  for (int step = 0; step < 10; ++step) {
    const NDArray x = random::uniform(-1, 1, {16, 50}, device);
    const NDArray labels = random::randint(0, 10, {16}, device);
    settle();
    const NDArray hidden = relu(fully_connected(x, w1, b1));
    settle();
    const NDArray grad = softmax_cross_entropy_backward(fully_connected(hidden, w2, b2), labels);
    settle();
    const auto second = fully_connected_backward(grad, hidden, w2);
    settle();
    const auto first = fully_connected_backward(relu_backward(second.data, hidden), x, w1, false);
    settle();
    sgd_mom_update(w1, first.weight, m1, 0.1, 0.9);
    sgd_mom_update(w2, second.weight, m2, 0.1, 0.9);
    b1 -= 0.1 * first.bias;
    b2 -= 0.1 * second.bias;
    settle();
  }
  Values all = values(w1);
  for (const NDArray& parameter : {w2, b1, b2}) {
    for (const double value : values(parameter)) all.push_back(value);
  }
  return all;
}

}  // namespace

TEST_CASE("operations that overlap give the bits of operations that do not") {
  for (const Device device : {Device::cpu(), Device::gpu(0)}) {
    CAPTURE(device.str());
    CHECK(train(device, false) == train(device, true));
  }
}

TEST_CASE("training on the CPU and on a simulated GPU gives the same bits") {
  CHECK(train(Device::cpu(), false) == train(Device::gpu(1), false));
}

}  // namespace heddle
