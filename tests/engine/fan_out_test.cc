#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"
#include "tests/support/scale.h"

// Small operations that go from the CPU to simulated GPUs and back. This program has two.

namespace heddle {
namespace {

using support::HeldOperation;

/// Sums up what two GPUs make of each value of a counter.
class FanOut {
 public:
  explicit FanOut(Engine& engine) : engine_(engine) {}
  void push(int groups) {
    for (int i = 0; i < groups; ++i) {
      engine_.push([this] { ++value_; }, {}, {x_});
      for (std::size_t gpu = 0; gpu < parts_.size(); ++gpu) {
        engine_.push([this, gpu] { parts_.at(gpu) += value_ * static_cast<std::int64_t>(gpu + 1); },
                     {x_}, {part_vars_.at(gpu)}, {.device = Device::gpu(static_cast<int>(gpu))});
      }
      engine_.push([this] { sum_ += parts_[0] - parts_[1]; }, {part_vars_[0], part_vars_[1]},
                   {sum_var_});
    }
    groups_ += groups;
  }
  std::int64_t sum() const { return sum_; }
  /// The same, one after the other.
  std::int64_t expected_sum() const {
    std::int64_t sum = 0;
    std::int64_t difference = 0;
    for (std::int64_t value = 1; value <= groups_; ++value) sum += difference -= value;
    return sum;
  }

 private:
  Engine& engine_;
  Var x_ = engine_.new_variable();
  std::array<Var, 2> part_vars_ = {engine_.new_variable(), engine_.new_variable()};
  Var sum_var_ = engine_.new_variable();
  std::int64_t value_ = 0;
  std::array<std::int64_t, 2> parts_{};
  std::int64_t sum_ = 0;
  std::int64_t groups_ = 0;
};

TEST_CASE("small operations that go from the CPU to GPUs and back end as they were pushed") {
  for (const int workers : {1, 2, 3}) {
    EngineOptions options;
    options.cpu_workers = workers;
    Engine engine(options);
    FanOut fan_out(engine);
    for (int round = 0; round < 20; ++round) {
      fan_out.push(500 / support::kScale);
      if (round % 2 == 0) engine.wait_for_all();
    }
    engine.wait_for_all();
    CHECK(fan_out.sum() == fan_out.expected_sum());
  }
}

TEST_CASE("a worker loses nothing that comes back from GPUs while it takes in what was pushed") {
  EngineOptions options;
  options.cpu_workers = 1;
  Engine engine(options);
  FanOut fan_out(engine);
  {
    const HeldOperation held(engine, {}, {});
    fan_out.push(1000);
  }
  engine.wait_for_all();
  CHECK(fan_out.sum() == fan_out.expected_sum());
}

TEST_CASE("an operation on a GPU waits for each of the many variables that it names") {
  Engine engine;
  std::vector<Var> vars;
  for (int i = 0; i < 6; ++i) vars.push_back(engine.new_variable());
  std::array<std::int64_t, 6> values{};
  std::int64_t sum = 0;
  std::int64_t expected = 0;
  const int rounds = 1000 / support::kScale;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Device device = i % 2 == 0 ? Device::gpu(1) : Device::cpu();
      engine.push([&values, i] { values.at(i) += static_cast<std::int64_t>(i); }, {}, {vars[i]},
                  {.device = device});
    }
    const Var sum_var = vars[0];
    engine.push(
        [&] {
          for (const std::int64_t value : values) sum += value;
        },
        vars, {sum_var}, {.device = Device::gpu(0)});
    expected += 15 * (round + 1);
  }
  engine.wait_for_all();
  CHECK(sum == expected);
}

}  // namespace
}  // namespace heddle
