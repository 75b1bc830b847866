#include "heddle/recording.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ops.h"
#include "heddle/random.h"

#include "tests/ops/arrays.h"

// Operators in scripts that are recorded: n runs give, bit for bit, what pushing the script n times
// gives, random numbers included.

namespace heddle {
namespace {

constexpr int kRuns = 5;

/// What `script` leaves in its state, pushed kRuns times and run kRuns times.
struct Both {
  std::vector<float> pushed;
  std::vector<float> replayed;
};

using Script = std::function<void(const NDArray& state)>;

Both push_and_run(Device device, const Script& script) {
  Both result;
  const auto fresh = [device] { return NDArray::full({4, 4}, 0.5, device); };
  random::seed(99);
  const NDArray pushed = fresh();
  for (int i = 0; i < kRuns; ++i) script(pushed);
  result.pushed = pushed.to_vector<float>();

  random::seed(99);
  const NDArray replayed = fresh();
  const Recording recording = Engine::get().record([&] { script(replayed); });
  for (int i = 0; i < kRuns; ++i) recording.run();
  result.replayed = replayed.to_vector<float>();
  return result;
}

void check_same(const Script& script) {
  for (const Device device : {Device::cpu(), Device::gpu(1)}) {
    CAPTURE(device.str());
    const Both both = push_and_run(device, script);
    CHECK(both.replayed == both.pushed);
    CHECK(both.pushed != std::vector<float>(16, 0.5F));
  }
}

TEST_CASE("a training step with temporaries runs as it is pushed") {
  check_same([](const NDArray& weights) {
    const Device device = weights.device();
    const NDArray x = NDArray::arange(0, 12, 1, device).reshape({3, 4}) / 7;
    const NDArray bias = NDArray::full({4}, 0.25, device);
    const NDArray hidden = relu(fully_connected(x, weights, bias));
    const NDArray labels = NDArray::from<std::int64_t>({0, 3, 1}, {3}, device);
    const NDArray grad = softmax_cross_entropy_backward(hidden, labels);
    const auto gradients = fully_connected_backward(grad * hidden, x, weights);
    sgd_update(weights, gradients.weight, 0.1F, 0.01F);
  });
}

TEST_CASE("each run draws new random numbers, those that pushing the script again would draw") {
  check_same([](const NDArray& state) {
    NDArray x = state;
    x += random::uniform(-1, 1, {4, 4}, state.device());
    x *= random::normal(0, 1, {4, 4}, state.device());
    x += random::bernoulli(0.5, {4, 4}, state.device());
    x += random::randint(0, 100, {4, 4}, state.device()).astype(DType::kFloat32);
  });
}

TEST_CASE("a seed in a script is set in each run") {
  check_same([](const NDArray& state) {
    NDArray x = state;
    random::seed(5);
    x += random::uniform(0, 1, {4, 4}, state.device());
    x += random::uniform(0, 1, {4, 4}, state.device());
    random::seed(6, state.device());
    x *= random::uniform(0, 1, {4, 4}, state.device());
  });
}

TEST_CASE("recording draws nothing") {
  random::seed(3);
  const auto expected = random::uniform(0, 1, {8}, Device::cpu()).to_vector<float>();
  random::seed(3);
  const Recording recording = Engine::get().record([] {
    random::uniform(0, 1, {100}, Device::cpu());
    random::seed(4);
  });
  CHECK(recording.size() == 1);
  CHECK(random::uniform(0, 1, {8}, Device::cpu()).to_vector<float>() == expected);
}

TEST_CASE("draws pushed between runs take their places between theirs") {
  const auto draw = [] { return random::uniform(0, 1, {6}, Device::cpu()); };
  std::vector<std::vector<float>> expected;
  random::seed(8);
  for (int i = 0; i < 5; ++i) expected.push_back(draw().to_vector<float>());

  NDArray drawn;
  const Recording recording = Engine::get().record([&] { drawn = draw(); });
  random::seed(8);
  std::vector<std::vector<float>> actual;
  for (int i = 0; i < 5; ++i) {
    if (i % 2 == 0) recording.run();
    actual.push_back((i % 2 == 0 ? drawn : draw()).to_vector<float>());
  }
  CHECK(actual == expected);
}

TEST_CASE("a draw that is skipped because of poison keeps its place") {
  const auto fail = [](const NDArray& x) {
    Engine::get().push([] { throw Error("planned"); }, {}, {x.var()});
  };
  const auto heal = [](const NDArray& x) { x.copy_from(NDArray::arange(0, 50)); };
  const auto end = [](const NDArray& x) {
    const auto values = x.to_vector<float>();
    CHECK_THROWS_AS(Engine::get().wait_for_all(), AggregateError);
    return values;
  };
  const NDArray x({50}, Device::cpu());
  random::seed(21);
  heal(x);
  fail(x);
  random::shuffle(x);
  heal(x);
  random::shuffle(x);
  const auto expected = end(x);

  const Recording recording = Engine::get().record([&] { random::shuffle(x); });
  random::seed(21);
  heal(x);
  fail(x);
  recording.run();
  heal(x);
  recording.run();
  CHECK(end(x) == expected);
}

TEST_CASE("an error of a recorded operator arrives as that of a pushed one") {
  const NDArray x = NDArray::zeros({3});
  const NDArray index = NDArray::from<std::int64_t>({7}, {1});
  NDArray taken;
  const Recording recording = Engine::get().record([&] { taken = take(x, index); });
  recording.run();
  CHECK_THROWS_AS(taken.to_vector<float>(), OpError);
  index.copy_from(NDArray::from<std::int64_t>({2}, {1}));
  recording.run();
  CHECK(taken.to_vector<float>() == std::vector<float>{0});
}

}  // namespace
}  // namespace heddle
