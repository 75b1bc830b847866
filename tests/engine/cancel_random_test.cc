#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/random_program.h"
#include "tests/support/scale.h"

// Random operations in groups that another thread cancels meanwhile, on the CPU and the GPUs there
// are, against a serial replay that is told which operations have run.

namespace heddle {
namespace {

using support::mix;

constexpr std::size_t kVariables = 12;
constexpr std::size_t kGroups = 4;
constexpr std::size_t kNone = kGroups;

struct Operation {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> mutates;
  std::size_t group = kNone;
  bool overwrites = false;
  bool async = false;
  Device device;
};

struct Program {
  std::vector<Operation> operations;
  std::array<std::size_t, kGroups> cancel_at{};  ///< once so many operations are pushed
};

Program generate(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::size_t limit) { return random() % limit; };
  Program program;
  for (std::size_t i = 0; i < size; ++i) {
    Operation operation;
    for (std::size_t n = below(3); n > 0; --n) operation.reads.push_back(below(kVariables));
    const std::size_t mutated = below(kVariables);
    operation.mutates.push_back(mutated);
    if (below(4) == 0) operation.mutates.push_back((mutated + 1) % kVariables);
    operation.group = below(3) == 0 ? below(kGroups) : kNone;
    operation.overwrites = below(3) == 0;
    operation.async = below(4) == 0;
    const std::size_t device = below(static_cast<std::size_t>(num_gpus()) + 1);
    if (device != 0) operation.device = Device::gpu(static_cast<int>(device) - 1);
    program.operations.push_back(std::move(operation));
  }
  for (std::size_t& at : program.cancel_at) at = below(size);
  std::sort(program.cancel_at.begin(), program.cancel_at.end());
  return program;
}

using Values = std::array<std::uint64_t, kVariables>;

void apply(const Operation& operation, std::size_t number, Values& values) {
  std::uint64_t h = number;
  for (const std::size_t read : operation.reads) h = mix(h, values[read]);
  for (const std::size_t index : operation.mutates) {
    values[index] = operation.overwrites ? h : mix(values[index], h);
  }
}

struct Result {
  Values values{};
  std::array<std::uint64_t, kVariables> roots{};     ///< the cancelled operation, or 0
  std::array<std::uint64_t, kVariables> versions{};  ///< ended operations that mutate
  std::uint64_t completed = 0;
};

/// `ran`: by operation. What must have run and has not, or the other way round, is in `wrong`.
Result replay(const Program& program, const std::vector<char>& ran,
              const std::array<bool, kGroups + 1>& cancelled, std::string& wrong) {
  Result result;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    std::uint64_t root = 0;
    const auto meet = [&](std::size_t index, bool excused) {
      const std::uint64_t poison = result.roots[index];
      if (poison != 0 && !excused) root = root == 0 ? poison : std::min(root, poison);
    };
    for (const std::size_t index : operation.mutates) meet(index, operation.overwrites);
    for (const std::size_t index : operation.reads) {
      const bool written =
          std::count(operation.mutates.begin(), operation.mutates.end(), index) != 0;
      meet(index, written && operation.overwrites);
    }
    if (root != 0 && ran[i] != 0) wrong = "ran in spite of poison: " + std::to_string(i + 1);
    if (root == 0 && ran[i] == 0) {
      root = i + 1;
      if (!cancelled[operation.group]) wrong = "skipped without reason: " + std::to_string(i + 1);
    }
    if (root == 0) apply(operation, i, result.values);
    if (root == 0) ++result.completed;
    for (const std::size_t index : operation.mutates) {
      result.roots[index] = root;
      ++result.versions[index];
    }
  }
  return result;
}

class Run {
 public:
  Run(const Program& program, const EngineOptions& options)
      : program_(program), ran_(program.operations.size()), engine_(options) {
    for (std::size_t i = 0; i < kVariables; ++i) variables_.push_back(engine_.new_variable());
    const std::jthread canceller([this] { cancel_groups(); });
    for (std::size_t i = 0; i < program.operations.size(); ++i) push(i);
    engine_.wait_for_all();
  }

  /// By operation.
  const std::vector<char>& ran() const { return ran_; }

  /// Ends the engine.
  Result result() {
    Result result;
    result.values = values_;
    for (std::size_t i = 0; i < kVariables; ++i) {
      result.roots[i] = root_of(variables_[i]);
      result.versions[i] = engine_.version(variables_[i]);
      if (result.roots[i] != 0) result.values[i] = 0;
    }
    const ShutdownReport report = engine_.shutdown();
    result.completed = report.completed;
    if (report.cancelled != ran_.size() - report.completed) result.completed = 0;
    return result;
  }

 private:
  void push(std::size_t number) {
    const Operation& operation = program_.operations[number];
    const auto body = [this, number] {
      apply(program_.operations[number], number, values_);
      ran_[number] = 1;
    };
    std::vector<Var> reads;
    std::vector<Var> mutates;
    for (const std::size_t index : operation.reads) reads.push_back(variables_[index]);
    for (const std::size_t index : operation.mutates) mutates.push_back(variables_[index]);
    PushOptions options{.device = operation.device, .overwrites = operation.overwrites};
    if (operation.group != kNone) options.cancel = sources_[operation.group].token();
    if (operation.async) {
      engine_.push_async(
          [body](RunContext&, Completion completion) {
            body();
            completion.done();
          },
          reads, mutates, options);
    } else {
      engine_.push(body, reads, mutates, options);
    }
    pushed_.store(number + 1);
  }

  void cancel_groups() {
    for (std::size_t group = 0; group < kGroups; ++group) {
      while (pushed_.load() < program_.cancel_at[group]) std::this_thread::yield();
      sources_[group].cancel();
    }
  }

  std::uint64_t root_of(const Var& var) {
    try {
      engine_.wait_for_var(var);
    } catch (const Cancelled& error) {
      const std::string text = error.what();
      return std::stoull(text.substr(text.find('#') + 1));
    }
    return 0;
  }

  const Program& program_;
  std::array<CancelSource, kGroups> sources_;
  std::atomic<std::size_t> pushed_{0};
  Values values_{};
  std::vector<char> ran_;
  Engine engine_;
  std::vector<Var> variables_;
};

/// What differs from the replay, or "".
std::string run_and_compare(const Program& program, const EngineOptions& options) {
  Run run(program, options);
  const Result found = run.result();
  std::string wrong;
  Result expected = replay(program, run.ran(), {true, true, true, true, false}, wrong);
  for (std::size_t i = 0; i < kVariables; ++i) {
    if (expected.roots[i] != 0) expected.values[i] = 0;  // unspecified
  }
  if (!wrong.empty()) return wrong;
  if (found.roots != expected.roots) return "other roots";
  if (found.versions != expected.versions) return "other versions";
  if (found.completed != expected.completed) return "other counts";
  return found.values == expected.values ? "" : "other values";
}

TEST_CASE("operations whose groups another thread cancels leave what a serial run would") {
  HEDDLE_FOR_EACH(given, every_engine);
  for (std::uint64_t seed = 0; seed < 40 / support::kScale; ++seed) {
    EngineOptions options = given;
    options.seed += seed;
    options.max_pending = seed % 2 == 0 ? 24 : 65536;
    const Program program = generate(Catch::rngSeed() + seed, seed % 4 == 3 ? 2000 : 200);
    CAPTURE(Catch::rngSeed(), seed);
    REQUIRE(run_and_compare(program, options) == "");
  }
}

}  // namespace
}  // namespace heddle
