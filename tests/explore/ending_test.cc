#include <chrono>
#include <cstdint>
#include <functional>

#include <catch2/catch.hpp>

#include "heddle/cancel.h"
#include "heddle/engine.h"
#include "heddle/error.h"

#include "engine/base/thread.h"
#include "tests/explore/engine_locals.h"
#include "tests/explore/scheduler.h"

// A program's operations are cancelled, or its engine is shut down, before each of its steps.

namespace heddle::explore {
namespace {

struct Life {
  std::uint64_t pushed = 0;
  std::uint64_t ran = 0;
  bool is_over = false;  ///< what was to end the program has returned before that ended by itself
  ShutdownReport report;
};

using End = std::function<void(Engine& engine, CancelSource& group)>;

/// Operations that wait for each other, that do not, and one that pushes another one. `end` is
/// called by a thread that waits for `bell`, at the latest when all operations have been waited
/// for.
void live(Scheduler& scheduler, const int& bell, const End& end, Life& life) {
  Engine engine({.kind = EngineKind::kThreaded, .cpu_workers = 2});
  CancelSource group;
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  base::Thread other = base::start_thread("other", [&] {
    scheduler.block(&bell);
    end(engine, group);
    life.is_over = true;
  });
  while (!other.is_blocked()) base::yield();
  const auto push = [&](VarList reads, VarList mutates, auto&& then) {
    engine.push(
        [&life, then] {
          ++life.ran;
          then();
        },
        reads, mutates, {.cancel = group.token()});
    ++life.pushed;
  };
  try {
    push({}, {x}, [] {});
    push({x}, {y}, [] {});
    push({}, {}, [&] {
      engine.push([&life] { ++life.ran; }, {}, {y});
      ++life.pushed;
    });
    push({y}, {x}, [] {});
    engine.wait_for_all();
  } catch (const Error&) {
    // Stopped or cancelled, whichever it is that comes in between.
  }
  const bool was_over = life.is_over;
  if (!was_over) scheduler.wake_all(&bell);
  other.join();
  life.is_over = was_over;
  life.report = engine.shutdown(ShutdownMode::kDrain, std::chrono::hours(1));
}

/// Counts the steps before which `end` came while the program still had something to do.
std::uint64_t end_at_each_step(const End& end) {
  std::uint64_t ended = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Plan plan{.seed = seed};
    const int bell = 0;
    Scheduler scheduler;
    keep_engine_locals(scheduler);
    Life life;
    const auto program = [&] {
      life = {};
      live(scheduler, bell, end, life);
    };
    const std::uint64_t steps = scheduler.run(plan, program).steps;
    for (std::uint64_t step = 1; step <= steps; ++step) {
      CAPTURE(seed, step);
      scheduler.look_at(step, [&] { scheduler.wake_first(&bell); });
      const Schedule schedule = scheduler.run(plan, program);
      REQUIRE(schedule.stuck == "");
      const ShutdownReport& report = life.report;
      REQUIRE(report.completed == life.ran);
      REQUIRE(report.completed + report.cancelled == life.pushed);
      REQUIRE(report.failed + report.abandoned == 0);
      ended += life.is_over ? 1U : 0U;
    }
  }
  return ended;
}

TEST_CASE("operations that are cancelled at any step of an engine's life run or are cancelled") {
  CHECK(end_at_each_step([](Engine& /*engine*/, CancelSource& group) { group.cancel(); }) > 1000);
}

TEST_CASE("an engine that is drained at any step of its life ends all that it has taken") {
  CHECK(end_at_each_step([](Engine& engine, CancelSource& /*group*/) {
          engine.shutdown(ShutdownMode::kDrain, std::chrono::hours(1));
        }) > 1000);
}

TEST_CASE("an engine that is cancelled at any step of its life ends all that it has taken") {
  CHECK(end_at_each_step([](Engine& engine, CancelSource& /*group*/) {
          engine.shutdown(ShutdownMode::kCancel, std::chrono::hours(1));
        }) > 1000);
}

}  // namespace
}  // namespace heddle::explore
