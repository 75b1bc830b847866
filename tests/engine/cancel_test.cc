#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// A CancelSource cancels the operations of its group: those that have not started are skipped,
// those that run are told.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using std::chrono::seconds;
using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::traced;

ShutdownReport drain(Engine& engine) { return engine.shutdown(ShutdownMode::kDrain, seconds(60)); }

/// Pushes an operation that runs until its group is cancelled.
std::shared_ptr<Gate> push_until_stopped(Engine& engine, const Var& var, const CancelToken& group) {
  auto started = std::make_shared<Gate>();
  engine.push(
      [started](RunContext& context) {
        started->open();
        while (!context.stop_requested()) std::this_thread::yield();
      },
      {}, {var}, {.cancel = group});
  return started;
}

TEST_CASE("an operation pushed after its group was cancelled is skipped") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  source.cancel();
  int ran = 0;
  engine.push([&ran] { ++ran; }, {}, {x}, {.cancel = source.token()});
  CHECK_THROWS_AS(engine.wait_for_var(x), Cancelled);
  CHECK(ran == 0);
}

TEST_CASE("operations that wait for others are skipped when their group is cancelled") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  Counter ran;
  HeldOperation held(engine, {}, {x});
  for (int i = 0; i < 10; ++i) {
    engine.push([&ran] { ran.add(); }, {}, {x}, {.cancel = source.token()});
  }
  held.wait_until_started();
  source.cancel();
  held.release();
  CHECK_THROWS_AS(engine.wait_for_var(x), Cancelled);
  CHECK(ran.value() == 0);
}

TEST_CASE("operations that no wait has run yet are skipped when their group is cancelled") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  int ran = 0;
  for (int i = 0; i < 10; ++i) engine.push([&ran] { ++ran; }, {}, {x}, {.cancel = source.token()});
  source.cancel();
  CHECK_THROWS_AS(engine.wait_for_var(x), Cancelled);
  CHECK(ran == 0);
}

TEST_CASE("a running operation sees that its group is cancelled, and completes as it likes") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  Gate started;
  const std::jthread canceller([&] {
    started.wait();
    source.cancel();
  });
  engine.push(
      [&started](RunContext& context) {
        started.open();
        while (!context.stop_requested()) std::this_thread::yield();
      },
      {}, {x}, {.cancel = source.token()});
  engine.wait_for_var(x);
  CHECK(drain(engine).completed == 1);
}

TEST_CASE("a running operation that throws when its group is cancelled fails") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  engine.push(
      [&source](const RunContext& context) {
        source.cancel();
        if (context.stop_requested()) throw std::runtime_error("stopped half way");
      },
      {}, {x}, {.cancel = source.token()});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK(drain(engine).failed == 1);
}

TEST_CASE("stop_requested is false while neither the engine nor the group is cancelled") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  CancelSource other;
  other.cancel();
  bool in_group = true;
  bool in_none = true;
  engine.push([&](RunContext& context) { in_group = context.stop_requested(); }, {}, {x},
              {.cancel = source.token()});
  engine.push([&](RunContext& context) { in_none = context.stop_requested(); }, {}, {x});
  engine.wait_for_var(x);
  CHECK_FALSE(in_group);
  CHECK_FALSE(in_none);
}

TEST_CASE("cancelling a group leaves what has ended as it is") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  int value = 0;
  engine.push([&value] { value = 5; }, {}, {x}, {.cancel = source.token()});
  engine.wait_for_var(x);
  source.cancel();
  CHECK_NOTHROW(engine.wait_for_var(x));
  engine.push([&value] { ++value; }, {}, {x});
  engine.wait_for_var(x);
  CHECK(value == 6);
}

TEST_CASE("cancelling a group leaves operations of other groups and of none alone") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const Var z = engine.new_variable();
  CancelSource cancelled;
  const CancelSource other;
  cancelled.cancel();
  Counter ran;
  engine.push([&ran] { ran.add(); }, {}, {x}, {.cancel = cancelled.token()});
  engine.push([&ran] { ran.add(); }, {}, {y}, {.cancel = other.token()});
  engine.push([&ran] { ran.add(); }, {}, {z});
  engine.wait_for_var(y);
  engine.wait_for_var(z);
  CHECK(ran.value() == 2);
}

TEST_CASE("cancelling twice is cancelling once") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  source.cancel();
  engine.push([] {}, {}, {x}, {.cancel = source.token()});
  source.cancel();
  CHECK(source.cancelled());
  CHECK(drain(engine).cancelled == 1);
}

TEST_CASE("a waiter is told which operation was cancelled") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CancelSource source;
  source.cancel();
  engine.push([] {}, {}, {y});
  const std::uint64_t root =
      engine.push([] {}, {}, {x}, {.name = "load", .cancel = source.token()});
  engine.push([] {}, {x}, {y}, {.name = "use"});
  const std::string text = "operation 'load' #" + std::to_string(root) + " was cancelled";
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains(text));
  CHECK_THROWS_WITH(engine.wait_for_var(y), Contains(text));
  CHECK_THROWS_WITH(engine.wait_for_var_unused(x), Contains("unused] " + text));
}

TEST_CASE("the poison of a cancelled operation is healed by overwriting and by clear_error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CancelSource source;
  source.cancel();
  int ran = 0;
  engine.push([] {}, {}, {x, y}, {.overwrites = true, .cancel = source.token()});
  engine.push([&ran] { ++ran; }, {}, {x});
  engine.push([&ran] { ran += 10; }, {}, {x}, {.overwrites = true});
  engine.clear_error(y);
  engine.push([&ran] { ran += 100; }, {x}, {y});
  engine.wait_for_var(x);
  engine.wait_for_var(y);
  CHECK(ran == 110);
  CHECK(engine.version(x) == 3);
}

TEST_CASE("an error that came before is what a cancelled operation passes on") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  source.cancel();
  engine.push([] { throw std::runtime_error("first"); }, {}, {x});
  engine.push([] {}, {}, {x}, {.cancel = source.token()});
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("first"));
  CHECK(drain(engine).cancelled == 0);
}

TEST_CASE("wait_for_all throws errors, and nothing for what a group's end has cancelled") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CancelSource source;
  source.cancel();
  engine.push([] {}, {}, {x}, {.cancel = source.token()});
  engine.push([] {}, {x}, {x});
  CHECK_NOTHROW(engine.wait_for_all());
  engine.push([] { throw 1; }, {}, {y});
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("what kCancel cancels is EngineStopped also beside a cancelled group") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CancelSource source;
  source.cancel();
  engine.push([] {}, {}, {y}, {.cancel = source.token()});
  CHECK_THROWS_AS(engine.wait_for_var(y), Cancelled);
  CancelSource running;
  const auto started = push_until_stopped(engine, x, running.token());
  engine.push([] {}, {}, {x});
  started->wait();
  CHECK(engine.shutdown(ShutdownMode::kCancel, seconds(60)).cancelled == 2);
  CHECK_THROWS_AS(engine.wait_for_var(x), EngineStopped);
  CHECK_THROWS_AS(engine.wait_for_var(y), Cancelled);
  CHECK_THROWS_AS(engine.wait_for_all(), EngineStopped);
}

TEST_CASE("the report counts cancelled operations and what they kept from running") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CancelSource source;
  engine.push([] {}, {}, {x}, {.cancel = source.token()});
  engine.wait_for_var(x);
  source.cancel();
  engine.push([] {}, {}, {x}, {.cancel = source.token()});
  engine.push([] {}, {x}, {});
  engine.push([] { throw 1; }, {}, {y});
  engine.push([] {}, {}, {y}, {.cancel = source.token()});
  const ShutdownReport report = drain(engine);
  CHECK(report.completed == 1);
  CHECK(report.cancelled == 2);
  CHECK(report.failed == 2);
  CHECK(report.abandoned == 0);
}

TEST_CASE("the record of a cancelled operation says so") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(traced(options));
  CancelSource source;
  source.cancel();
  engine.push([] {}, {}, {}, {.cancel = source.token()});
  engine.wait_for_all();
  const std::vector<OpRecord> records = engine.trace();
  REQUIRE(records.size() == 1);
  CHECK(records[0].outcome == Outcome::kCancelled);
  CHECK(records[0].started == records[0].done);
}

TEST_CASE("an operation can cancel its own group, and so what it has pushed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  int ran = 0;
  engine.push(
      [&] {
        engine.push([&ran] { ++ran; }, {}, {x}, {.cancel = source.token()});
        source.cancel();
      },
      {}, {x}, {.cancel = source.token()});
  engine.wait_for_all();
  CHECK(ran == 0);
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("operation #2 was cancelled"));
}

TEST_CASE("what an operation of a cancelled group pushes without the token runs") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  CancelSource source;
  Counter ran;
  engine.push(
      [&] {
        source.cancel();
        engine.push([&ran] { ran.add(); }, {}, {});
      },
      {}, {}, {.cancel = source.token()});
  engine.wait_for_all();
  CHECK(ran.value() == 1);
}

TEST_CASE("the end of a variable belongs to no group") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  CancelSource source;
  source.cancel();
  int ran = 0;
  engine.delete_variable(engine.new_variable(), [&ran] { ++ran; }, {.cancel = source.token()});
  engine.wait_for_all();
  CHECK(ran == 1);
}

TEST_CASE("an asynchronous operation of a cancelled group is not started") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  source.cancel();
  int ran = 0;
  engine.push_async(
      [&ran](RunContext&, Completion completion) {
        ++ran;
        completion.done();
      },
      {}, {x}, {.cancel = source.token()});
  CHECK_THROWS_AS(engine.wait_for_var(x), Cancelled);
  CHECK(ran == 0);
}

TEST_CASE("an asynchronous operation sees that its group is cancelled until it completes") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  auto source = std::make_unique<CancelSource>();
  std::jthread elsewhere;
  const CancelToken token = source->token();
  engine.push_async(
      [&](const RunContext& context, Completion completion) {
        elsewhere = std::jthread([context, &source, done = std::move(completion)]() mutable {
          source->cancel();
          source.reset();
          if (context.stop_requested()) done.done();
        });
      },
      {}, {x}, {.cancel = token});
  engine.wait_for_var(x);
  CHECK(token.cancelled());
}

}  // namespace
}  // namespace heddle
