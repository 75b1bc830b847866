#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/engine.h"

#include "tests/faults/load.h"
#include "tests/faults/runs.h"
#include "tests/faults/seeds.h"
#include "tests/support/forked_child.h"
#include "tests/support/random_program.h"
#include "tests/support/scale.h"

// Shutdown, a group's cancelling and fork at any moment of a program that is being pushed: every
// operation that was taken is counted, once.

namespace heddle::faults {
namespace {

/// Two threads that push until they are refused, or for `steps`.
std::vector<std::jthread> start_pushers(Load& load, std::uint64_t seed, int steps) {
  std::vector<std::jthread> pushers;
  for (std::uint64_t thread = 0; thread < 2; ++thread) {
    pushers.emplace_back([&load, seed, thread, steps] {
      Random random(support::mix(seed, thread));
      for (int i = 0; i < steps && load.stopped() == 0; ++i) load.step(random);
    });
  }
  return pushers;
}

void run_shutdown(ShutdownMode mode, std::uint64_t seed, Tally& tally) {
  Random random(seed);
  const bool has_time = !random.one_in(4);
  Engine engine(parallel_engine(seed));
  Load load(engine);
  std::vector<std::jthread> pushers = start_pushers(load, seed, /*steps=*/100'000);
  std::this_thread::sleep_for(random.pause(3000));
  const auto deadline =
      has_time ? std::chrono::milliseconds(60'000) : std::chrono::milliseconds(random.below(2));
  const ShutdownReport report = engine.shutdown(mode, deadline);
  pushers.clear();
  if (has_time) {
    CHECK(report.abandoned == 0);
    CHECK(total(report) + load.deletions() >= load.accepted());
  }
  const ShutdownReport last = engine.shutdown();  // of what was abandoned, too
  CHECK(total(report) <= load.accepted());  // before that a parent may not have counted its child
  CHECK(last.abandoned == 0);
  CHECK(total(last) == load.accepted());
  if (mode == ShutdownMode::kDrain) CHECK(last.cancelled == 0);
  CHECK_THROWS_AS(engine.push([] {}, {}, {}), EngineStopped);
  tally.add("operations", total(last));
  tally.add("cancelled", last.cancelled);
  tally.add("failed", last.failed);
  tally.add("abandoned for a time", report.abandoned);
  tally.add_run();
  load.drop_variables();
}

TEST_CASE("draining at any moment counts every operation that was taken") {
  Tally tally("11 shutdown with kDrain while others push");
  for_seeds(runs(200),
            [&](std::uint64_t seed) { run_shutdown(ShutdownMode::kDrain, seed, tally); });
}

TEST_CASE("cancelling an engine at any moment counts every operation that was taken") {
  Tally tally("11 shutdown with kCancel while others push");
  for_seeds(runs(200),
            [&](std::uint64_t seed) { run_shutdown(ShutdownMode::kCancel, seed, tally); });
}

TEST_CASE("cancelling a group at any moment counts every operation that was taken") {
  Tally tally("11 CancelSource::cancel while others push");
  for_seeds(runs(200), [&](std::uint64_t seed) {
    Random random(seed);
    CancelSource source;
    Engine engine(parallel_engine(seed));
    Load load(engine, source.token());
    std::vector<std::jthread> pushers = start_pushers(load, seed, /*steps=*/300);
    std::this_thread::sleep_for(random.pause(2000));
    source.cancel();
    pushers.clear();
    const Var x = engine.new_variable();
    engine.push([] {}, {}, {x}, {.cancel = source.token()});
    CHECK_THROWS_AS(engine.wait_for_var(x), Cancelled);
    const ShutdownReport report = engine.shutdown();
    CHECK(report.abandoned == 0);
    CHECK(report.cancelled >= 1);
    CHECK(total(report) == load.accepted() + 1);
    tally.add("operations", total(report));
    tally.add("cancelled", report.cancelled);
    tally.add_run();
    load.drop_variables();
  });
}

#if !defined(HEDDLE_SANITIZED)  // whose locks may be held in the child for ever

using support::kRight;
using support::kWrong;
using support::throws_forked_child;

/// What the child does: it is refused by name, drops what it has, and leaves or runs a program.
[[noreturn]] void be_child(std::optional<Engine>& engine, Var var, bool executes) {
  alarm(50);  // a hang is a signal
  const bool right = throws_forked_child([&] { engine->push([] {}, {}, {var}); }) &&
                     throws_forked_child([&] { engine->wait_for_var(var); }) &&
                     throws_forked_child([&] { engine->shutdown(); });
  var = Var();
  engine.reset();
  if (right && executes) execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
  _exit(right ? kRight : kWrong);
}

TEST_CASE("a child forked at any moment is refused by the engine and leaves without a trace") {
  Tally tally("11 fork while others push");
  for_seeds(runs(200), [&](std::uint64_t seed) {
    Random random(seed);
    std::optional<Engine> engine(parallel_engine(seed));
    Load load(*engine);
    const Var x = engine->new_variable();
    std::vector<std::jthread> pushers = start_pushers(load, seed, /*steps=*/300);
    std::this_thread::sleep_for(random.pause(2000));
    const bool executes = random.one_in(2);
    const pid_t child = fork();
    if (child == 0) be_child(engine, x, executes);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == kRight);
    pushers.clear();
    const ShutdownReport report = engine->shutdown();  // the parent has noticed nothing
    CHECK(report.abandoned == 0);
    CHECK(total(report) == load.accepted());
    tally.add("operations", total(report));
    tally.add_run();
    load.drop_variables();
    engine.reset();
  });
}

#endif

}  // namespace
}  // namespace heddle::faults
