#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ops.h"
#include "heddle/random.h"

#include "tests/support/fake_cuda_graphs.h"

// Recorded work of arrays as CUDA graphs, on emulated GPUs.

namespace heddle {
namespace {

/// Trains a layer on numbers that are drawn anew in each step; what its weights are then.
std::vector<float> train(Device device, int steps) {
  random::seed(11);
  const NDArray weight = random::normal(0, 1, {4, 5}, device);
  const NDArray bias = NDArray::zeros({4}, device);
  const NDArray labels = NDArray::from<std::int64_t>({0, 3, 1, 2, 2, 0}, {6}, device);
  const Recording step = Engine::get().record([&] {
    const NDArray input = random::uniform(-1, 1, {6, 5}, device);
    const NDArray hidden = relu(fully_connected(input, weight, bias));
    const NDArray loss = softmax_cross_entropy_backward(hidden, labels);
    sgd_update(weight, fully_connected_backward(loss, input, weight).weight, 0.1);
  });
  random::seed(12);
  for (int i = 0; i < steps; ++i) step.run();
  return weight.to_vector<float>();
}

TEST_CASE("a recorded step of training gives the same bits on the CPU and as a CUDA graph") {
  const std::uint64_t before = support::fake_cuda_graphs().launched;
  const std::vector<float> on_gpu = train(Device::gpu(0), 6);
  CHECK(support::fake_cuda_graphs().launched - before == 5);
  CHECK(on_gpu == train(Device::cpu(), 6));
}

}  // namespace
}  // namespace heddle
