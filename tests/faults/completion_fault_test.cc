#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/faults/runs.h"
#include "tests/faults/seeds.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"

// Asynchronous operations that misuse their Completion, many at a time.

namespace heddle::faults {
namespace {

using support::Counter;
using support::ForeignThread;

enum class Misuse : std::uint8_t {
  kNone,
  kThrowAfterDone,
  kThrowAfterFail,
  kDoneTwice,
  kDoneThenFail,
  kTwoThreads,  ///< both call done() at once
  kTwoThreadsDisagree,
  kDropped,
  kDroppedElsewhere,
  kFailWithNothing,
};
constexpr int kMisuses = 10;

/// Errors that an operation leaves: of itself, and of the second use.
struct Expected {
  std::size_t failed;
  std::size_t reported;
};

constexpr std::array<Expected, kMisuses> kExpected = {
    {{0, 0}, {0, 1}, {1, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 0}, {1, 0}, {1, 0}}};

std::exception_ptr some_error() { return std::make_exception_ptr(std::runtime_error("no luck")); }

class Misuser {
 public:
  void push(Engine& engine, const Var& var, Misuse misuse) {
    engine.push_async(
        [this, misuse](RunContext&, Completion completion) { run(misuse, std::move(completion)); },
        {}, {var}, {.overwrites = true});
  }

 private:
  void run(Misuse misuse, Completion completion) {
    switch (misuse) {
      case Misuse::kNone:
        return completion.done();
      case Misuse::kThrowAfterDone:
        completion.done();
        throw std::runtime_error("after done");
      case Misuse::kThrowAfterFail:
        completion.fail(some_error());
        throw std::runtime_error("after fail");
      case Misuse::kDoneTwice:
        completion.done();
        return completion.done();
      case Misuse::kDoneThenFail:
        completion.done();
        return completion.fail(some_error());
      case Misuse::kTwoThreads:
        return use_at_once(std::move(completion), /*disagree=*/false);
      case Misuse::kTwoThreadsDisagree:
        return use_at_once(std::move(completion), /*disagree=*/true);
      case Misuse::kDropped:
        return;
      case Misuse::kDroppedElsewhere:
        return a_.post([completion = std::move(completion)] {});
      case Misuse::kFailWithNothing:
        return completion.fail(nullptr);
    }
  }

  void use_at_once(Completion completion, bool disagree) {
    const auto shared = std::make_shared<Completion>(std::move(completion));
    a_.post([shared] { shared->done(); });
    b_.post([shared, disagree] { disagree ? shared->fail(some_error()) : shared->done(); });
  }

  ForeignThread a_;
  ForeignThread b_;
};

std::size_t errors_told(Engine& engine) {
  try {
    engine.wait_for_all();
  } catch (const AggregateError& error) {
    return error.errors().size() + error.omitted();
  }
  return 0;
}

void run_misuses(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  std::size_t failed = 0;
  std::size_t reported = 0;
  std::size_t disagreements = 0;
  std::size_t told = 0;
  constexpr std::size_t kPushed = 60;
  Engine engine(any_engine(seed));
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  {
    Misuser misuser;  // its threads have used everything when it is gone
    for (std::size_t i = 0; i < kPushed; ++i) {
      const int misuse = random.below(kMisuses);
      misuser.push(engine, random.one_in(2) ? x : y, static_cast<Misuse>(misuse));
      failed += kExpected[static_cast<std::size_t>(misuse)].failed;
      reported += kExpected[static_cast<std::size_t>(misuse)].reported;
      if (static_cast<Misuse>(misuse) == Misuse::kTwoThreadsDisagree) ++disagreements;
    }
    told = errors_told(engine);  // runs them all, also where waits do that
  }
  told += errors_told(engine);
  const ShutdownReport report = engine.shutdown();
  CHECK(report.abandoned == 0);
  CHECK(report.completed + report.failed == kPushed);
  CHECK(report.failed >= failed);
  CHECK(report.failed <= failed + disagreements);
  CHECK(told == report.failed + reported);
  tally.add("operations", kPushed);
  tally.add("of them failed", report.failed);
  tally.add("second uses reported", reported);
  tally.add_run();
}

TEST_CASE("each misuse of a completion among many is told once and its operation counted once") {
  Tally tally("4 misused completions");
  for_seeds(runs(300), [&](std::uint64_t seed) { run_misuses(seed, tally); });
}

/// Keeps the completions of some operations beyond an abandoning shutdown, and then uses some of
/// them and drops the others.
void run_kept(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  std::vector<Completion> kept;
  Counter stored;
  Engine engine(parallel_engine(seed % 12));  // those with room for all
  const int count = 1 + random.below(8);
  const Lane one_thread = Lane::kBlocking;
  for (int i = 0; i < count; ++i) {
    engine.push_async(
        [&](RunContext&, Completion completion) {
          kept.push_back(std::move(completion));
          stored.add();
        },
        {}, {engine.new_variable()}, {.lane = one_thread});
  }
  stored.wait_for(static_cast<std::size_t>(count));
  const ShutdownMode mode = random.one_in(2) ? ShutdownMode::kDrain : ShutdownMode::kCancel;
  const ShutdownReport report = engine.shutdown(mode, std::chrono::milliseconds(random.below(3)));
  CHECK(report.abandoned == static_cast<std::uint64_t>(count));
  CHECK(report.completed + report.failed + report.cancelled == 0);
  const int used = random.below(count + 1);
  for (int i = 0; i < used; ++i) kept[static_cast<std::size_t>(i)].done();
  kept.clear();
  const ShutdownReport last = engine.shutdown();
  CHECK(last.abandoned == 0);
  CHECK(last.completed == static_cast<std::uint64_t>(used));
  CHECK(last.failed == static_cast<std::uint64_t>(count - used));
  tally.add("abandoned operations", report.abandoned);
  tally.add_run();
}

TEST_CASE("operations whose completions are kept are abandoned at the deadline and can end later") {
  Tally tally("4 completions kept beyond shutdown");
  for_seeds(runs(200), [&](std::uint64_t seed) { run_kept(seed, tally); });
}

}  // namespace
}  // namespace heddle::faults
