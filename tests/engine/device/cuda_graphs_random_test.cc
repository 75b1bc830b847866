#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/cuda.h"
#include "heddle/engine.h"

#include "tests/support/fake_cuda_graphs.h"
#include "tests/support/fake_cuda_runtime.h"

// Random recordings on fake GPUs and the CPU, as CUDA graphs, against what they stand for.

namespace heddle {
namespace {

/// Scripts over a few values, whose operations the GPUs do in their time and the CPU at once.
class RandomScripts {
 public:
  RandomScripts(Engine& engine, std::uint64_t seed) : engine_(engine), random_(seed) {
    for (Var& var : vars_) var = engine.new_variable();
  }

  /// Pushes or runs something, and does the same to what is expected.
  void step() {
    if (recordings_.size() < 3) return record();
    if (random_() % 4 == 0) {
      const Operation operation = draw();
      push(operation);
      return expect(operation);
    }
    const Script& script = recordings_[random_() % recordings_.size()];
    script.recording.run();
    for (const Operation& operation : script.operations) expect(operation);
  }
  bool is_as_expected() {
    for (const Var& var : vars_) engine_.wait_for_var(var);
    return values_ == expected_;
  }

 private:
  static constexpr std::size_t kValues = 4;
  using Values = std::array<std::uint64_t, kValues>;
  struct Operation {
    int device = 0;  // 3: the CPU
    bool is_capturable = false;
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t factor = 0;
  };
  struct Script {
    Recording recording;
    std::vector<Operation> operations;
  };

  Operation draw() {
    Operation operation;
    operation.device = random_() % 12 == 0 ? static_cast<int>(random_() % 4) : 0;
    operation.is_capturable = random_() % 20 != 0;
    operation.from = random_() % kValues;
    operation.to = random_() % kValues;
    operation.factor = random_() | 1U;
    return operation;
  }
  void record() {
    Script script;
    for (std::size_t left = 5 + random_() % 40; left != 0; --left) {
      script.operations.push_back(draw());
    }
    script.recording = engine_.record([&] {
      for (const Operation& operation : script.operations) push(operation);
    });
    recordings_.push_back(std::move(script));
  }
  static void apply(const Operation& operation, Values& values) {
    values[operation.to] = values[operation.to] * operation.factor + values[operation.from] + 1;
  }
  void expect(const Operation& operation) { apply(operation, expected_); }
  void push(const Operation& operation) {
    PushOptions options;
    if (operation.device < 3) options.device = Device::gpu(operation.device);
    options.capturable = operation.is_capturable;
    engine_.push(
        [this, operation](RunContext& context) {
          if (!context.device.is_gpu()) return apply(operation, values_);
          support::enqueue_on_fake_cuda(cuda_stream(context),
                                        [this, operation] { apply(operation, values_); });
        },
        {vars_[operation.from]}, {vars_[operation.to]}, options);
  }

  Engine& engine_;
  std::mt19937_64 random_;
  std::array<Var, kValues> vars_;
  Values values_{};
  Values expected_{};
  std::vector<Script> recordings_;
};

TEST_CASE("random recordings of several threads give with GPU graphs what their scripts say") {
  for (int window : {64, 2}) {
    EngineOptions options;
    options.compute_window = window;
    Engine engine(options);
    const auto seed = std::uint64_t{1000} * Catch::rngSeed();
    std::vector<std::unique_ptr<RandomScripts>> scripts;
    for (std::uint64_t i = 0; i < 3; ++i) {
      scripts.push_back(std::make_unique<RandomScripts>(engine, seed + i));
    }
    const std::uint64_t before = support::fake_cuda_graphs().launched;
    std::vector<std::thread> threads;
    for (const auto& own : scripts) {
      threads.emplace_back([&own] {
        for (int i = 0; i < 200; ++i) own->step();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& own : scripts) CHECK(own->is_as_expected());
    CHECK(support::fake_cuda_graphs().launched - before > 100);
  }
}

}  // namespace
}  // namespace heddle
