#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// An exception that is not needed any more may do anything when it is destroyed.

namespace heddle {
namespace {

using support::Gate;

/// Calls a function when it is destroyed.
class AtItsEnd {
 public:
  explicit AtItsEnd(std::function<void()> end)
      : end_(nullptr, [end = std::move(end)](void*) { end(); }) {}

 private:
  std::shared_ptr<void> end_;
};

EngineOptions with_workers(int workers) {
  EngineOptions options;
  options.cpu_workers = workers;
  return options;
}

/// Leaves in `var` an exception that calls `end` when `var` is healed.
void poison(Engine& engine, const Var& var, const std::function<void()>& end) {
  engine.push([&end] { throw AtItsEnd(end); }, {}, {var});
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
}

/// Returns when an exception that `var` has carried is being destroyed, which ends after `goes_on`.
void begin_to_destroy(Engine& engine, const Var& var, const Gate& goes_on) {
  const auto begun = std::make_shared<Gate>();
  poison(engine, var, [begun, &goes_on] {
    begun->open();
    goes_on.wait();
  });
  engine.push([] {}, {}, {var}, {.overwrites = true});
  begun->wait();
}

TEST_CASE("an exception that is destroyed may wait for what its operation has made ready") {
  for (const int workers : {1, 2}) {
    Engine engine(with_workers(workers));
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    const Var z = engine.new_variable();
    Gate held;
    Gate done;
    poison(engine, x, [&] {
      engine.wait_for_var(y);
      done.open();
    });
    engine.push([&] { held.wait(); }, {}, {x}, {.overwrites = true});
    engine.push([] {}, {x}, {z});
    engine.push([] {}, {x}, {y});
    held.open();
    done.wait();
    CHECK(engine.version(y) == 1);
  }
}

TEST_CASE("an exception that is destroyed may wait for what it pushes to any lane") {
  for (const Lane lane : {Lane::kCompute, Lane::kCopyOut, Lane::kBlocking}) {
    Engine engine(with_workers(1));
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    Gate done;
    poison(engine, x, [&] {
      engine.push([] {}, {}, {y}, {.lane = lane});
      engine.wait_for_var(y);
      done.open();
    });
    engine.push([] {}, {}, {x}, {.lane = lane, .overwrites = true});
    done.wait();
    CHECK(engine.version(y) == 1);
  }
}

TEST_CASE("an exception that is destroyed may wait for the run of a recording") {
  Engine engine(with_workers(1));
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 40; ++i) engine.push([] {}, {}, {y});
  });
  Gate held;
  Gate done;
  poison(engine, x, [&] {
    engine.wait_for_var(y);
    done.open();
  });
  engine.push([&] { held.wait(); }, {}, {x}, {.overwrites = true});
  engine.push([] {}, {x}, {y});
  recording.run();
  held.open();
  done.wait();
  CHECK(engine.version(y) == 41);
}

TEST_CASE("an exception that is destroyed holds up no worker") {
  Engine engine(with_workers(1));
  const Var x = engine.new_variable();
  Gate goes_on;
  begin_to_destroy(engine, x, goes_on);
  engine.push([&] { goes_on.open(); }, {}, {x});
  engine.wait_for_all();
}

TEST_CASE("what an exception pushes when it is destroyed runs before its engine goes") {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran{0};
    {
      Engine engine(with_workers(2));
      const Var x = engine.new_variable();
      poison(engine, x, [&] { engine.push([&ran] { ++ran; }, {}, {}); });
      engine.push([] {}, {}, {x}, {.overwrites = true});
      std::this_thread::sleep_for(std::chrono::microseconds(round % 50));
    }
    CHECK(ran == 1);
  }
}

TEST_CASE("an exception that is destroyed may push where no place is left") {
  EngineOptions options = with_workers(1);
  options.max_pending = 1;
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<int> pushed{0};
  int ran = 0;
  const auto push = [&] { engine.push([&pushed] { ++pushed; }, {}, {}); };
  constexpr int kTimes = 100;
  for (int i = 0; i < kTimes; ++i) {
    engine.push([&] { throw AtItsEnd(push); }, {}, {x});
    CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
    for (int k = 0; k < 5; ++k) engine.push([&ran] { ++ran; }, {}, {x}, {.overwrites = true});
  }
  while (pushed < kTimes) std::this_thread::yield();
  engine.wait_for_all();
  CHECK(ran == 5 * kTimes);
}

TEST_CASE("many exceptions that one operation drops are destroyed one after the other") {
  constexpr int kMany = 20'000;
  Engine engine(with_workers(1));
  std::atomic<int> pushed{0};
  std::vector<Var> vars;
  const auto push = [&] {
    engine.push([] {}, {}, {}, {.name = "named"});
    ++pushed;
  };
  for (int i = 0; i < kMany; ++i) {
    vars.push_back(engine.new_variable());
    engine.push([&] { throw AtItsEnd(push); }, {}, {vars.back()});
  }
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  engine.push(
      [&] {
        for (const Var& var : vars) engine.delete_variable(var);
      },
      {}, {});
  while (pushed < kMany) std::this_thread::yield();
  engine.wait_for_all();
}

TEST_CASE("exceptions are destroyed in the order in which they were dropped") {
  constexpr int kMany = 5;
  Engine engine(with_workers(1));
  support::Log<int> log;
  std::vector<Var> vars;
  for (int i = 0; i < kMany; ++i) {
    vars.push_back(engine.new_variable());
    poison(engine, vars.back(), [&log, i] { log.add(i); });
  }
  const Var first = engine.new_variable();
  Gate goes_on;
  begin_to_destroy(engine, first, goes_on);
  for (const Var& var : vars) engine.push([] {}, {}, {var}, {.overwrites = true});
  engine.wait_for_all();
  goes_on.open();
  engine.shutdown();
  CHECK(log.entries() == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("an exception is destroyed while nobody calls its engine") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  Engine other;
  const Var x = engine.new_variable();
  Gate done;
  poison(engine, x, [&] { done.open(); });
  other.push([&] { engine.delete_variable(x); }, {}, {});
  done.wait();
}

TEST_CASE("an exception that is dropped before its engine is shut down may push") {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ran{0};
    Engine engine(with_workers(1));
    const Var x = engine.new_variable();
    poison(engine, x, [&] { engine.push([&ran] { ++ran; }, {}, {}); });
    engine.push([] {}, {}, {x}, {.overwrites = true});
    engine.wait_for_var(x);
    const ShutdownReport report = engine.shutdown();
    CHECK(report.completed == 2);
    CHECK(ran == 1);
  }
}

TEST_CASE("an exception that takes long to destroy leaves no operation abandoned") {
  Engine engine(with_workers(1));
  const Var x = engine.new_variable();
  Gate goes_on;
  begin_to_destroy(engine, x, goes_on);
  const ShutdownReport report =
      engine.shutdown(ShutdownMode::kDrain, std::chrono::milliseconds(20));
  CHECK(report.abandoned == 0);
  CHECK_NOTHROW(engine.wait_for_all());
  goes_on.open();
}

TEST_CASE("an exception beyond those that are kept for a report may wait when it is destroyed") {
  Engine engine(with_workers(1));
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::atomic<int> destroyed{0};
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          throw AtItsEnd([&] {
            engine.wait_for_var(y);
            ++destroyed;
          });
        },
        {x}, {});
  });
  constexpr int kKept = 1024;
  constexpr int kBeyond = 500;
  for (int i = 0; i < kKept + kBeyond; ++i) recording.run();
  while (destroyed < kBeyond - 1) std::this_thread::yield();  // the recording carries the last one
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
}

TEST_CASE("an exception that a recording has overwritten may wait when it is destroyed") {
  Engine engine(with_workers(1));
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::atomic<int> destroyed{0};
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          throw AtItsEnd([&] {
            engine.push([] {}, {}, {y});
            engine.wait_for_var(y);
            ++destroyed;
          });
        },
        {}, {x});
    engine.push([] {}, {}, {x}, {.overwrites = true});
  });
  constexpr int kRuns = 1500;  // of more errors than are kept
  for (int i = 0; i < kRuns; ++i) recording.run();
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  while (destroyed < kRuns) std::this_thread::yield();
  CHECK(engine.version(y) == kRuns);
}

}  // namespace
}  // namespace heddle
