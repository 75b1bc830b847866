#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"

// What only kExplore promises: push enqueues, and who waits runs the operations.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::Counter;
using support::ForeignThread;
using support::Gate;
using support::limited;

TEST_CASE("on the explorer push only enqueues, and a wait runs operations on its own thread") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::thread::id ran_on;
  engine.push([&ran_on] { ran_on = std::this_thread::get_id(); }, {}, {x});
  CHECK(ran_on == std::thread::id());
  CHECK(engine.version(x) == 0);
  engine.wait_for_var(x);
  CHECK(ran_on == std::this_thread::get_id());
}

TEST_CASE("a wait for a variable drives the explorer only until the variable is settled") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  bool read = false;
  bool copied = false;
  engine.push([] {}, {}, {x});
  engine.push([&read] { read = true; }, {x}, {});
  engine.wait_for_var(x);
  CHECK_FALSE(read);
  engine.push([&copied] { copied = true; }, {x}, {y});
  engine.wait_for_var(x);  // settled: nothing runs
  CHECK_FALSE(read);
  CHECK_FALSE(copied);
  engine.wait_for_var_unused(x);
  CHECK(read);
  CHECK(copied);
}

TEST_CASE("what a wait does not cover may run before it ends, or after, as the seed says") {
  std::set<bool> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EngineOptions options;
    options.kind = EngineKind::kExplore;
    options.seed = seed;
    Engine engine(options);
    const Var x = engine.new_variable();
    bool unrelated = false;
    engine.push([&unrelated] { unrelated = true; }, {}, {});
    engine.push([] {}, {}, {x});
    engine.wait_for_var(x);
    seen.insert(unrelated);
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("a push that finds the explorer's queue full runs an operation and takes its place") {
  HEDDLE_FOR_EACH(configuration, explore_engines);
  Engine engine(limited(configuration, 3));
  int ran = 0;
  for (int i = 0; i < 3; ++i) engine.push([&ran] { ++ran; }, {}, {});
  CHECK(ran == 0);
  for (int i = 1; i <= 5; ++i) {
    engine.push([&ran] { ++ran; }, {}, {});
    CHECK(ran == i);
  }
  engine.wait_for_all();
  CHECK(ran == 8);
}

TEST_CASE("try_push refuses when the explorer's queue is full, and who tries again gets on") {
  HEDDLE_FOR_EACH(configuration, explore_engines);
  Engine engine(limited(configuration, 2));
  int ran = 0;
  const auto count = [&ran] { ++ran; };
  engine.push(count, {}, {});
  engine.push(count, {}, {});
  auto fn = [&ran, step = std::make_unique<int>(10)] { ran += *step; };
  CHECK_FALSE(engine.try_push(std::move(fn), {}, {}).has_value());
  // NOLINTNEXTLINE(bugprone-use-after-move): a refused callable is intact
  CHECK(engine.try_push(std::move(fn), {}, {}) == std::optional<std::uint64_t>(3));
  engine.wait_for_all();
  CHECK(ran == 12);
}

TEST_CASE("deletions do not run operations, however full the explorer's queue is") {
  HEDDLE_FOR_EACH(configuration, explore_engines);
  Engine engine(limited(configuration, 1));
  const Var x = engine.new_variable();
  Counter ran;
  engine.push([&ran] { ran.add(); }, {}, {x});
  for (int i = 0; i < 5; ++i) {
    engine.delete_variable(engine.new_variable(), [&ran] { ran.add(); });
  }
  engine.delete_variable(x, [&ran] { ran.add(); }, {.brief = true});
  CHECK(ran.value() == 0);
  engine.wait_for_all();
  CHECK(ran.value() == 7);
}

TEST_CASE("a driver with nothing ready sleeps until a completion comes") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::optional<Completion> kept;
  bool ran = false;
  engine.push_async(
      [&](RunContext&, Completion completion) { kept.emplace(std::move(completion)); }, {}, {x});
  const Var stored = engine.new_variable();
  engine.push([&ran] { ran = true; }, {x}, {});
  for (int i = 0; i < 100 && !kept; ++i) {  // some wait runs it
    engine.push([] {}, {}, {stored});
    engine.wait_for_var(stored);
  }
  REQUIRE(kept);
  CHECK_FALSE(ran);
  std::atomic<bool> completed{false};
  std::jthread foreign([&] {
    std::this_thread::sleep_for(milliseconds(5));
    completed = true;
    kept->done();
  });
  engine.wait_for_var(x);
  CHECK(completed);
  engine.wait_for_all();
  CHECK(ran);
}

TEST_CASE("an operation may complete another one of the explorer") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var token = engine.new_variable();
  std::optional<Completion> kept;
  engine.push_async(
      [&](RunContext&, Completion completion) {
        kept.emplace(std::move(completion));
        engine.push([&kept] { kept->done(); }, {}, {token});
      },
      {}, {x});
  CHECK_NOTHROW(engine.wait_for_var(x));
  CHECK(engine.version(x) == 1);
}

TEST_CASE("two threads may drive the explorer at once") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Gate started;
  Gate released;
  engine.push(
      [&] {
        started.open();
        released.wait();
      },
      {}, {x}, {.lane = Lane::kBlocking});
  std::jthread driver([&] { engine.wait_for_var(x); });
  started.wait();
  int value = 0;
  engine.push([&value] { value = 1; }, {}, {y});
  engine.wait_for_var(y);  // beside the operation that the other thread runs
  CHECK(value == 1);
  CHECK(engine.version(x) == 0);
  released.open();
  driver.join();
  CHECK(engine.version(x) == 1);
}

TEST_CASE("a driver sleeps while another one runs what it waits for") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  Gate started;
  std::atomic<bool> ended{false};
  engine.push(
      [&] {
        started.open();
        std::this_thread::sleep_for(milliseconds(5));
        ended = true;
      },
      {}, {x});
  std::jthread driver([&] { engine.wait_for_all(); });
  started.wait();
  engine.wait_for_var(x);
  CHECK(ended);
}

TEST_CASE("operations of a lane with one worker never overlap, however many threads drive") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  for (int i = 0; i < 200; ++i) {
    engine.push(
        [&] {
          if (++inside != 1) ++overlaps;
          std::this_thread::yield();
          --inside;
        },
        {}, {}, {.lane = Lane::kComm});
  }
  {
    std::vector<std::jthread> drivers;
    for (int t = 0; t < 4; ++t) drivers.emplace_back([&engine] { engine.wait_for_all(); });
  }
  CHECK(overlaps == 0);
}

TEST_CASE("threads that push into the explorer's full queue and complete elsewhere come through") {
  HEDDLE_FOR_EACH(configuration, explore_engines);
  ForeignThread foreign;
  Engine engine(limited(configuration, 2));
  const Var x = engine.new_variable();
  int value = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          engine.push_async(
              [&](RunContext&, Completion completion) {
                foreign.post([&value, completion = std::move(completion)]() mutable {
                  ++value;
                  completion.done();
                });
              },
              {}, {x});
          if (i % 10 == 0) engine.wait_for_var(x);
        }
      });
    }
  }
  engine.wait_for_all();
  CHECK(value == 200);
}

TEST_CASE("ReentrantWait names the variable's last pending writer on the explorer") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable("weights");
  std::string message;
  engine.push(
      [&] {
        engine.push([] {}, {}, {x}, {.name = "first writer"});
        engine.push([] {}, {}, {x}, {.name = "last writer"});
        engine.push([] {}, {x}, {}, {.name = "reader"});
        try {
          engine.wait_for_var(x);
        } catch (const ReentrantWait& error) {
          message = error.what();
        }
      },
      {}, {}, {.name = "waiter"});
  engine.wait_for_all();
  CHECK_THAT(message, Contains("waiter") && Contains("last writer") && Contains("weights"));
}

TEST_CASE("cancelling the explorer skips everything that was pushed and runs every last") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Counter ran;
  Counter lasts;
  auto resource = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = resource;
  engine.push([&ran, resource = std::move(resource)] { ran.add(); }, {}, {x});
  for (int i = 0; i < 9; ++i) engine.push([&ran] { ran.add(); }, {x}, {y});
  engine.delete_variable(x, [&lasts] { lasts.add(); });
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK(ran.value() == 0);
  CHECK(lasts.value() == 1);
  CHECK(watched.expired());
  CHECK(report.completed == 1);
  CHECK(report.cancelled == 10);
  CHECK(report.failed == 0);
  CHECK(report.abandoned == 0);
  CHECK_THROWS_AS(engine.wait_for_var(y), EngineStopped);
  CHECK_THROWS_AS(engine.wait_for_all(), EngineStopped);
}

TEST_CASE("the explorer's shutdown returns at its deadline, and waiters get EngineStopped") {
  HEDDLE_FOR_EACH(options, explore_engines);
  std::optional<Completion> kept;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    Gate started;
    engine.push_async(
        [&](RunContext&, Completion completion) {
          kept.emplace(std::move(completion));
          started.open();
        },
        {}, {x});
    engine.push([] {}, {}, {x});
    std::atomic<int> stopped{0};
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&, i] {
        try {
          i == 0 ? engine.wait_for_all() : engine.wait_for_var(x);
        } catch (const EngineStopped&) {
          ++stopped;
        }
      });
    }
    started.wait();
    const auto before = std::chrono::steady_clock::now();
    const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, milliseconds(20));
    CHECK(std::chrono::steady_clock::now() - before >= milliseconds(20));
    CHECK(report.completed == 0);
    CHECK(report.abandoned == 2);
    waiters.clear();
    CHECK(stopped == 3);
    CHECK_THROWS_AS(engine.wait_for_var(x), EngineStopped);
    CHECK_THROWS_AS(engine.wait_for_all(), EngineStopped);
  }
  CHECK_NOTHROW(kept->done());
  CHECK_NOTHROW(kept->fail(nullptr));
}

TEST_CASE("a thread that runs operations to get a place gets EngineStopped when told to stop") {
  HEDDLE_FOR_EACH(configuration, explore_engines);
  Engine engine(limited(configuration, 1));
  Gate started;
  engine.push(
      [&started](RunContext& context) {
        started.open();
        while (!context.stop_requested()) std::this_thread::yield();
      },
      {}, {});
  bool stopped = false;
  std::jthread pusher([&] {
    try {
      engine.push([] {}, {}, {});
    } catch (const EngineStopped&) {
      stopped = true;
    }
  });
  started.wait();
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel, seconds(60));
  pusher.join();
  CHECK(stopped);
  CHECK(report.completed == 1);
  CHECK(report.abandoned == 0);
}

}  // namespace
}  // namespace heddle
