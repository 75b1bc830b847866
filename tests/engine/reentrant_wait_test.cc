#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// A wait inside an operation could wait for that operation: it throws at once.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::HeldOperation;
using support::Log;

/// "" if `wait` does not throw ReentrantWait, else its message.
std::string message_of(const std::function<void()>& wait) {
  try {
    wait();
  } catch (const ReentrantWait& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("each kind of wait throws ReentrantWait inside an operation, also if nothing pends") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var fresh = engine.new_variable();
  Log<std::string> messages;
  engine.push(
      [&] {
        messages.add(message_of([&] { engine.wait_for_var(fresh); }));
        messages.add(message_of([&] { engine.wait_for_var_unused(fresh); }));
        messages.add(message_of([&] { engine.wait_for_all(); }));
        messages.add(message_of([&] { engine.shutdown(); }));
      },
      {}, {}, {.name = "waiter"});
  engine.wait_for_all();
  REQUIRE(messages.entries().size() == 4);
  for (const std::string& message : messages.entries()) CHECK_THAT(message, Contains("waiter"));
}

TEST_CASE("ReentrantWait names the waiting operation and the variable's last pending writer") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable("weights");
  HeldOperation writer(engine, {}, {x}, {.lane = Lane::kBlocking, .name = "first writer"});
  engine.push([] {}, {}, {x}, {.name = "last writer"});
  engine.push([] {}, {x}, {}, {.name = "reader"});
  Log<std::string> messages;
  const Var done = engine.new_variable();
  engine.push([&] { messages.add(message_of([&] { engine.wait_for_var(x); })); }, {}, {done},
              {.name = "waiter"});
  engine.wait_for_var(done);
  writer.release();
  engine.wait_for_all();
  REQUIRE(messages.entries().size() == 1);
  const std::string message = messages.entries()[0];
  CHECK_THAT(message, Contains("waiter"));
  CHECK_THAT(message, Contains("last writer"));
  CHECK_THAT(message, Contains("weights"));
}

TEST_CASE("ReentrantWait names a writer that the waiting operation has pushed itself") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable("weights");
  const Var gate = engine.new_variable();
  std::string message;
  engine.push(
      [&] {
        engine.push([] {}, {gate}, {x}, {.name = "first writer"});
        engine.push([] {}, {}, {x}, {.name = "last writer"});
        message = message_of([&] { engine.wait_for_var(x); });
      },
      {}, {gate}, {.name = "waiter"});
  engine.wait_for_all();
  CHECK_THAT(message, Contains("'waiter' #1"));
  CHECK_THAT(message, Contains("variable 'weights', to be written by 'last writer' #3"));
}

TEST_CASE("ReentrantWait names a writer whose completion has not come") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable("weights");
  std::string message;
  engine.push_async(
      [&](RunContext&, Completion completion) {
        engine.push(
            [&, completion = std::move(completion)]() mutable {
              message = message_of([&] { engine.wait_for_var(x); });
              completion.done();
            },
            {}, {}, {.name = "waiter"});
      },
      {}, {x}, {.name = "writer"});
  engine.wait_for_all();
  CHECK_THAT(message, Contains("'waiter' #2"));
  CHECK_THAT(message, Contains("variable 'weights', to be written by 'writer' #1"));
}

TEST_CASE("ReentrantWait names the waiting operation where that is the last writer") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable("weights");
  std::string message;
  engine.push([&] { message = message_of([&] { engine.wait_for_var(x); }); }, {}, {x},
              {.name = "waiter"});
  engine.wait_for_all();
  CHECK_THAT(message, Contains("variable 'weights', to be written by 'waiter' #1"));
}

TEST_CASE("an uncaught ReentrantWait fails its operation and nothing else") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([&engine, &x] { engine.wait_for_var(x); }, {}, {x}, {.name = "waits for itself"});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), ReentrantWait);
    CHECK_THAT(error.what(), Contains("waits for itself"));
  }
}

TEST_CASE("a wait on another engine inside an operation is reentrant too") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Engine other(options);
  const Var theirs = other.new_variable();
  Log<std::string> messages;
  engine.push(
      [&] {
        messages.add(message_of([&] { other.wait_for_var(theirs); }));
        messages.add(message_of([&] { other.wait_for_all(); }));
      },
      {}, {}, {.name = "waiter"});
  engine.wait_for_all();
  REQUIRE(messages.entries().size() == 2);
  for (const std::string& message : messages.entries()) CHECK_THAT(message, Contains("waiter"));
}

TEST_CASE("the callable's destructor and last are inside an operation") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<std::string> messages;
  const auto probe = [&] { messages.add(message_of([&] { engine.wait_for_all(); })); };
  const auto run_probe = [&probe](void*) { probe(); };
  // What the callable owns is "freed" by the probe.
  engine.push([owned = std::shared_ptr<void>(nullptr, run_probe)] {}, {}, {x});
  engine.delete_variable(x, probe);
  engine.wait_for_all();
  REQUIRE(messages.entries().size() == 2);
  for (const std::string& message : messages.entries()) CHECK_FALSE(message.empty());
}

TEST_CASE("the destructor of a skipped operation's callable is inside an operation too") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<std::string> messages;
  const auto probe = [&](void*) { messages.add(message_of([&] { engine.wait_for_all(); })); };
  engine.push([] { throw 1; }, {}, {x});
  engine.push([owned = std::shared_ptr<void>(nullptr, probe)] {}, {}, {x}, {.name = "skipped"});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  REQUIRE(messages.entries().size() == 1);
  CHECK_THAT(messages.entries()[0], Contains("skipped"));
}

TEST_CASE("the callable of push_async is inside, a foreign thread that completes it is not") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var healthy = engine.new_variable();
  std::string inside;
  std::string outside;
  std::jthread foreign;
  engine.push_async(
      [&](RunContext&, Completion completion) {
        inside = message_of([&] { engine.wait_for_var(healthy); });
        foreign = std::jthread([&, completion = std::move(completion)]() mutable {
          completion.done();
          outside = message_of([&] { engine.wait_for_var(healthy); });
        });
      },
      {}, {x});
  engine.wait_for_var(x);
  foreign.join();
  CHECK_FALSE(inside.empty());
  CHECK(outside.empty());
}

TEST_CASE("a thread is outside again when an operation that ran on it has ended") {
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] { throw 1; }, {}, {x});
  engine.push([] {}, {}, {x});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK_NOTHROW(engine.wait_for_all());
}

}  // namespace
}  // namespace heddle
