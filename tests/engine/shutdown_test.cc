#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// Shutdown drains or cancels, with a deadline, and reports counts. No waiter is woken as if it had
// succeeded.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::limited;

/// Pushes an operation that runs until the engine is told to stop.
std::unique_ptr<Gate> push_until_stopped(Engine& engine, const Var& var) {
  auto started = std::make_unique<Gate>();
  engine.push(
      [gate = started.get()](RunContext& context) {
        gate->open();
        while (!context.stop_requested()) std::this_thread::yield();
      },
      {}, {var});
  return started;
}

TEST_CASE("kDrain runs everything that was pushed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int ran = 0;
  for (int i = 0; i < 500; ++i) engine.push([&ran] { ++ran; }, {}, {x});
  const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, seconds(60));
  CHECK(ran == 500);
  CHECK(report.completed == 500);
  CHECK(report.failed == 0);
  CHECK(report.cancelled == 0);
  CHECK(report.abandoned == 0);
}

TEST_CASE("the report counts failed and skipped operations as failed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x});
  engine.push([] { throw 1; }, {}, {x});
  engine.push([] {}, {}, {x});
  engine.push([] {}, {}, {x}, {.overwrites = true});
  const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, seconds(60));
  CHECK(report.completed == 2);
  CHECK(report.failed == 2);
}

TEST_CASE("draining covers what operations push") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter ran;
  engine.push([&] { engine.push([&] { engine.push([&] { ran.add(); }, {}, {}); }, {}, {}); }, {},
              {});
  const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, seconds(60));
  CHECK(ran.value() == 1);
  CHECK(report.completed == 3);
}

TEST_CASE("every call that pushes throws EngineStopped after shutdown") {
  HEDDLE_FOR_EACH(options, every_engine);
  const ShutdownMode mode = GENERATE(ShutdownMode::kDrain, ShutdownMode::kCancel);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.shutdown(mode, seconds(60));
  const auto nothing = [] {};
  CHECK_THROWS_AS(engine.push(nothing, {}, {x}), EngineStopped);
  CHECK_THROWS_AS(engine.try_push(nothing, {}, {x}), EngineStopped);
  CHECK_THROWS_AS(engine.push_async([](RunContext&, Completion) {}, {}, {x}), EngineStopped);
}

TEST_CASE("a push after shutdown is told which call was refused") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto nothing = [] {};
  const Recording recording = engine.record([&] { engine.push(nothing, {}, {x}); });
  engine.shutdown(ShutdownMode::kDrain, seconds(60));
  CHECK_THROWS_WITH(engine.push(nothing, {}, {x}), StartsWith("[Engine::push] "));
  CHECK_THROWS_WITH(engine.try_push(nothing, {}, {x}), StartsWith("[Engine::try_push] "));
  CHECK_THROWS_WITH(engine.push_async([](RunContext&, Completion) {}, {}, {x}),
                    StartsWith("[Engine::push_async] "));
  CHECK_THROWS_WITH(engine.clear_error(x), StartsWith("[Engine::clear_error] "));
  CHECK_THROWS_WITH(recording.run(), StartsWith("[Recording::run] "));
}

TEST_CASE("a wait for what was cancelled or abandoned is told which call was refused") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const bool abandoned = GENERATE(false, true);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  engine.push([] {}, {}, {x});
  started->wait();
  if (abandoned) engine.shutdown(ShutdownMode::kDrain, milliseconds(1));
  if (!abandoned) engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK_THROWS_WITH(engine.wait_for_var(x), StartsWith("[Engine::wait_for_var] "));
  CHECK_THROWS_WITH(engine.wait_for_var_unused(x), StartsWith("[Engine::wait_for_var_unused] "));
  CHECK_THROWS_WITH(engine.wait_for_all(), StartsWith("[Engine::wait_for_all] "));
  engine.shutdown(ShutdownMode::kCancel, seconds(60));
}

TEST_CASE("a shutdown in no mode there is changes nothing") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto mode = static_cast<ShutdownMode>(7);
  CHECK_THROWS_AS(engine.shutdown(mode), std::invalid_argument);
  CHECK_THROWS_WITH(engine.shutdown(mode), Contains("mode is 7") && Contains("expected"));
  engine.push([] {}, {}, {x});
  engine.wait_for_var(x);
  CHECK(engine.version(x) == 1);
}

TEST_CASE("kCancel skips what has not started and lets what runs end") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  Counter ran;
  for (int i = 0; i < 10; ++i) engine.push([&ran] { ran.add(); }, {}, {x});
  started->wait();
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK(ran.value() == 0);
  CHECK(report.completed == 1);
  CHECK(report.cancelled == 10);
  CHECK(report.failed == 0);
  CHECK(report.abandoned == 0);
}

TEST_CASE("waiters for cancelled operations get EngineStopped") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  engine.push([] {}, {}, {x});
  started->wait();
  std::atomic<int> stopped{0};
  {
    Counter waiting;
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 4; ++i) {
      waiters.emplace_back([&, i] {
        waiting.add();
        try {
          i % 2 == 0 ? engine.wait_for_var(x) : engine.wait_for_var_unused(x);
        } catch (const EngineStopped&) {
          ++stopped;
        }
      });
    }
    waiting.wait_for(4);
    engine.shutdown(ShutdownMode::kCancel, seconds(60));
  }
  CHECK(stopped == 4);
}

TEST_CASE("a waiter is told which operation a shutdown has cancelled") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  engine.push([] {}, {}, {x}, {.name = "load"});
  started->wait();
  engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("operation 'load' #2 was cancelled: "));
}

TEST_CASE("a waiter for everything is not told that cancelled operations succeeded") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  engine.push([] {}, {}, {x});
  started->wait();
  std::atomic<bool> stopped{false};
  std::jthread waiter([&] {
    try {
      engine.wait_for_all();
    } catch (const EngineStopped&) {
      stopped = true;
    }
  });
  engine.shutdown(ShutdownMode::kCancel, seconds(60));
  waiter.join();
  CHECK(stopped);
}

TEST_CASE("last runs although its engine cancels") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  Counter ran;
  Counter lasts;
  engine.push([&ran] { ran.add(); }, {}, {x});
  engine.delete_variable(x, [&lasts] { lasts.add(); });
  started->wait();
  engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK(ran.value() == 0);
  CHECK(lasts.value() == 1);
}

TEST_CASE("the callables of cancelled operations are destroyed") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  auto resource = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = resource;
  engine.push([resource = std::move(resource)] {}, {}, {x});
  started->wait();
  engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK(watched.expired());
}

TEST_CASE("a shutdown returns at its deadline and counts what it abandons") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const ShutdownMode mode = GENERATE(ShutdownMode::kDrain, ShutdownMode::kCancel);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {x});
  held.wait_until_started();
  engine.push([] {}, {}, {x});
  engine.push([] {}, {}, {x});
  const auto before = std::chrono::steady_clock::now();
  const ShutdownReport report = engine.shutdown(mode, milliseconds(20));
  const auto took = std::chrono::steady_clock::now() - before;
  CHECK(took >= milliseconds(20));
  CHECK(took < seconds(20));
  CHECK(report.completed == 0);
  CHECK(report.abandoned + report.cancelled == 3);
  CHECK(report.abandoned >= 1);
}

TEST_CASE("a deadline that is over before the shutdown does not wait") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const milliseconds deadline = GENERATE(milliseconds(0), milliseconds(-1), milliseconds::min());
  Engine engine(options);
  HeldOperation held(engine, {}, {});
  held.wait_until_started();
  CHECK(engine.shutdown(ShutdownMode::kDrain, deadline).abandoned == 1);
  held.release();
}

TEST_CASE("waiters for abandoned operations are not told that they succeeded") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {x});
  engine.push([] {}, {}, {x});
  held.wait_until_started();
  std::atomic<bool> stopped{false};
  Gate started;
  std::jthread waiter([&] {
    started.open();
    try {
      engine.wait_for_var(x);
    } catch (const EngineStopped&) {
      stopped = true;
    }
  });
  started.wait();
  engine.shutdown(ShutdownMode::kDrain, milliseconds(1));
  held.release();
  waiter.join();
  CHECK(stopped);
}

TEST_CASE("a thread blocked in push by a full queue gets EngineStopped or its place") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 1));
  const Var x = engine.new_variable();
  const auto started = push_until_stopped(engine, x);
  started->wait();
  std::atomic<int> pushed{0};
  std::atomic<int> stopped{0};
  {
    Counter pushing;
    std::vector<std::jthread> pushers;
    for (int i = 0; i < 4; ++i) {
      pushers.emplace_back([&] {
        pushing.add();
        try {
          engine.push([] {}, {}, {x});
          ++pushed;
        } catch (const EngineStopped&) {
          ++stopped;
        }
      });
    }
    pushing.wait_for(4);
    engine.shutdown(ShutdownMode::kCancel, seconds(60));
  }
  CHECK(pushed + stopped == 4);
}

TEST_CASE("an operation may push while its engine drains") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  Counter ran;
  HeldOperation held(engine, {}, {x});
  engine.push([&] { engine.push([&ran] { ran.add(); }, {}, {x}); }, {}, {x});
  std::jthread release([&held] { held.release(); });
  const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, seconds(60));
  CHECK(ran.value() == 1);
  CHECK(report.completed == 3);
}

TEST_CASE("an engine that did nothing shuts down with an empty report") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const ShutdownReport report = engine.shutdown();
  CHECK(report.completed + report.failed + report.cancelled + report.abandoned == 0);
}

TEST_CASE("the destructor drains") {
  HEDDLE_FOR_EACH(options, every_engine);
  int ran = 0;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    for (int i = 0; i < 500; ++i) engine.push([&ran] { ++ran; }, {}, {x});
  }
  CHECK(ran == 500);
}

TEST_CASE("the destructor drains also what fails") {
  HEDDLE_FOR_EACH(options, every_engine);
  Counter lasts;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    engine.push([] { throw 1; }, {}, {x});
    engine.push([] {}, {}, {x});
    engine.delete_variable(x, [&lasts] { lasts.add(); });
  }
  CHECK(lasts.value() == 1);
}

}  // namespace
}  // namespace heddle
