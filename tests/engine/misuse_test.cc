#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// Bad input and odd input: what is refused, in every engine kind, and what has to work.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using support::Counter;
using support::Gate;

TEST_CASE("a push that names no variable is refused at once also by a full engine") {
  Engine engine({.cpu_workers = 1, .max_pending = 1});
  Gate gate;
  engine.push([&gate] { gate.wait(); }, {}, {});
  CHECK_THROWS_WITH(engine.push([] {}, {}, {Var()}), Contains("empty variable"));
  CHECK_THROWS_WITH(engine.push([] {}, {Var()}, {}), Contains("empty variable"));
  gate.open();
  engine.wait_for_all();
}

TEST_CASE("an engine with an option out of range is refused with its name, value and range") {
  HEDDLE_FOR_EACH(configuration, every_engine);
  struct Case {
    const char* text;
    void (*spoil)(EngineOptions&);
  };
  const Case cases[] = {
      {"cpu_workers is -1", [](EngineOptions& o) { o.cpu_workers = -1; }},
      {"cpu_workers is -2147483648",
       [](EngineOptions& o) { o.cpu_workers = std::numeric_limits<int>::min(); }},
      {"cpu_workers is 1025", [](EngineOptions& o) { o.cpu_workers = 1025; }},
      {"max_pending is 0", [](EngineOptions& o) { o.max_pending = 0; }},
      {"max_pending is 18446744073709551615",
       [](EngineOptions& o) { o.max_pending = std::numeric_limits<std::size_t>::max(); }},
      {"max_pending is 4294967297", [](EngineOptions& o) { o.max_pending = 4294967297; }},
      {"watchdog is -1", [](EngineOptions& o) { o.watchdog = std::chrono::milliseconds(-1); }},
      {"watchdog is 31536000001",
       [](EngineOptions& o) { o.watchdog = std::chrono::milliseconds(31536000001); }},
      {"copy_window is 0", [](EngineOptions& o) { o.copy_window = 0; }},
      {"copy_window is -1", [](EngineOptions& o) { o.copy_window = -1; }},
      {"copy_window is 65537", [](EngineOptions& o) { o.copy_window = 65537; }},
      {"compute_window is 0", [](EngineOptions& o) { o.compute_window = 0; }},
      {"compute_window is -5", [](EngineOptions& o) { o.compute_window = -5; }},
      {"compute_window is 2147483647",
       [](EngineOptions& o) { o.compute_window = std::numeric_limits<int>::max(); }},
  };
  for (const Case& each : cases) {
    EngineOptions options = configuration;
    each.spoil(options);
    CHECK_THROWS_AS(Engine(options), std::invalid_argument);
    CHECK_THROWS_WITH(Engine(options), Contains(each.text) && Contains("expected"));
  }
}

TEST_CASE("options at the ends of their ranges are taken") {
  HEDDLE_FOR_EACH(configuration, every_engine);
  EngineOptions options = configuration;
  options.max_pending = GENERATE(as<std::size_t>{}, 1, 4294967296);
  options.watchdog = GENERATE(as<std::chrono::milliseconds>{}, std::chrono::milliseconds(0),
                              std::chrono::milliseconds(31536000000));
  options.copy_window = options.compute_window = GENERATE(1, 65536);
  Engine engine(options);
  CHECK(engine.push([] {}, {}, {}) == 1);
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("an engine of a kind that does not exist is refused") {
  EngineOptions options;
  options.kind = static_cast<EngineKind>(77);
  CHECK_THROWS_AS(Engine(options), std::invalid_argument);
  CHECK_THROWS_WITH(Engine(options), Contains("kind is 77") && Contains("expected"));
  CHECK_THROWS_AS(configure({.engine = options}), std::invalid_argument);
}

TEST_CASE("a lane that does not exist is refused by every call that takes one") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const PushOptions nowhere{.lane = static_cast<Lane>(9)};
  const auto run = [] {};
  const auto complete = [](RunContext&, Completion completion) { completion.done(); };
  CHECK_THROWS_WITH(engine.push(run, {}, {}, nowhere), Contains("lane is 9"));
  CHECK_THROWS_AS(engine.push_async(complete, {}, {}, nowhere), std::invalid_argument);
  CHECK_THROWS_AS(engine.try_push(run, {}, {}, nowhere), std::invalid_argument);
  CHECK_THROWS_AS(engine.delete_variable(engine.new_variable(), {}, nowhere),
                  std::invalid_argument);
  CHECK(engine.push(run, {}, {}) == 1);
  engine.wait_for_all();
}

TEST_CASE("a push that is refused inside an operation takes no number and is that one's error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var stale = engine.new_variable("gone");
  engine.delete_variable(stale);  // 1
  engine.push([&engine, stale] { engine.push([] {}, {}, {stale}); }, {}, {x});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.sequence() == 2);
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), std::invalid_argument);
    CHECK_THAT(error.what(), Contains("gone"));
  }
  CHECK(engine.push([] {}, {}, {}) == 3);
}

TEST_CASE("every call refuses a variable of another engine, also of one that is gone") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Var foreign;
  {
    Engine other(options);
    foreign = other.new_variable("foreign");
  }
  const auto nothing = [] {};
  CHECK_THROWS_AS(engine.push(nothing, {}, {foreign}), std::invalid_argument);
  CHECK_THROWS_AS(engine.try_push(nothing, {foreign}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push_async([](RunContext&, Completion) {}, {}, {foreign}),
                  std::invalid_argument);
  CHECK_THROWS_AS(engine.wait_for_var(foreign), std::invalid_argument);
  CHECK_THROWS_AS(engine.wait_for_var_unused(foreign), std::invalid_argument);
  CHECK_THROWS_AS(engine.version(foreign), std::invalid_argument);
  CHECK_THROWS_AS(engine.clear_error(foreign), std::invalid_argument);
  CHECK_THROWS_AS(engine.delete_variable(foreign), std::invalid_argument);
  CHECK_THROWS_WITH(engine.version(foreign), Contains("foreign"));
  CHECK_THROWS_WITH(engine.wait_for_var_unused(foreign), Contains("wait_for_var_unused"));
  CHECK(engine.push(nothing, {}, {}) == 1);
}

TEST_CASE("a refused deletion runs its last never, and destroys it") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.delete_variable(x);
  Counter ran;
  auto resource = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = resource;
  CHECK_THROWS_AS(engine.delete_variable(x, [&ran, resource = std::move(resource)] { ran.add(); }),
                  std::invalid_argument);
  engine.wait_for_all();
  CHECK(ran.value() == 0);
  CHECK(watched.expired());
}

TEST_CASE("an error about a variable names the call that was given it") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.delete_variable(x);
  CHECK_THROWS_WITH(engine.push([] {}, {x}, {}), StartsWith("[Engine::push] "));
  CHECK_THROWS_WITH(engine.try_push([] {}, {x}, {}), StartsWith("[Engine::try_push] "));
  CHECK_THROWS_WITH(engine.push_async([](RunContext&, Completion) {}, {x}, {}),
                    StartsWith("[Engine::push_async] "));
  CHECK_THROWS_WITH(engine.clear_error(x), StartsWith("[Engine::clear_error] "));
  CHECK_THROWS_WITH(engine.delete_variable(x, {}, {.name = "given"}),
                    StartsWith("[Engine::delete_variable] "));
}

TEST_CASE("an error about a variable tells where in which list of which operation it stands") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var none;
  CHECK_THROWS_WITH(engine.push([] {}, {x, x, none}, {}), Contains("] reads[2]: empty variable"));
  CHECK_THROWS_WITH(engine.push([] {}, {}, {none}), Contains("] mutates[0]: empty variable"));
  CHECK_THROWS_WITH(engine.push([] {}, {}, {x, none}, {.name = "scale"}),
                    Contains("] mutates[1] of 'scale': empty variable"));
  CHECK_THROWS_WITH(engine.push([] {}, {none}, {x, x, x, x, x}), Contains("] reads[0]: "));
  CHECK_THROWS_WITH(engine.delete_variable(none), Contains("[Engine::delete_variable] empty"));
}

TEST_CASE("after shutdown an engine still answers") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var poisoned = engine.new_variable();
  engine.push([] {}, {}, {x});
  engine.push([] { throw 1; }, {}, {poisoned});
  const ShutdownReport first = engine.shutdown();
  CHECK_THROWS_AS(engine.clear_error(poisoned), EngineStopped);
  CHECK_NOTHROW(engine.wait_for_var(x));
  CHECK_NOTHROW(engine.wait_for_var_unused(x));
  CHECK_THROWS_AS(engine.wait_for_var(poisoned), OpError);
  CHECK_NOTHROW(engine.wait_for_all());  // reported
  CHECK(engine.version(x) == 1);
  CHECK(static_cast<bool>(engine.new_variable()));
  const ShutdownReport second = engine.shutdown(ShutdownMode::kCancel);
  CHECK(second.completed == first.completed);
  CHECK(second.failed == first.failed);
  CHECK(second.cancelled == 0);
}

TEST_CASE("a null callable is an argument error also after shutdown") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  engine.shutdown();
  CHECK_THROWS_AS(engine.push(std::function<void()>(), {}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.try_push(std::function<void()>(), {}, {}), std::invalid_argument);
}

TEST_CASE("a shutdown without any time for it counts what it did not wait for") {
  HEDDLE_FOR_EACH(options, explore_engines);
  const auto deadline = GENERATE(as<std::chrono::milliseconds>{}, std::chrono::milliseconds(0),
                                 std::chrono::milliseconds(-1));
  Engine engine(options);
  for (int i = 0; i < 5; ++i) engine.push([] {}, {}, {});
  const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, deadline);
  CHECK(report.abandoned == 5);
  CHECK(report.completed == 0);
}

TEST_CASE("a deadline may be as far away as the type allows") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter ran;
  for (int i = 0; i < 5; ++i) engine.push([&ran] { ran.add(); }, {}, {});
  const ShutdownReport report =
      engine.shutdown(ShutdownMode::kDrain, std::chrono::milliseconds::max());
  CHECK(report.completed == 5);
  CHECK(ran.value() == 5);
}

TEST_CASE("clear_error is no write and needs no error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  for (int i = 0; i < 3; ++i) engine.clear_error(x);
  CHECK_NOTHROW(engine.wait_for_var_unused(x));
  CHECK(engine.version(x) == 0);
  CHECK(engine.push([] {}, {}, {}) == 4);
}

TEST_CASE("a name may have any bytes and any length") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const std::string names[] = {std::string("a\0b", 3), "\xff\xfe", std::string(100000, 'n')};
  for (const std::string& name : names) {
    const Var x = engine.new_variable(name);
    CHECK(x.name() == name);
    engine.push([] { throw 1; }, {}, {x}, {.name = name});
    try {
      engine.wait_for_var(x);
      FAIL("no error");
    } catch (const OpError& error) {
      CHECK(error.op_name() == name);
    }
  }
}

/// An exception without a text.
class Mute : public std::exception {
 public:
  const char* what() const noexcept override { return nullptr; }
};

TEST_CASE("an exception whose text is null is an OpError like others") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] { throw Mute(); }, {}, {x});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), Mute);
    CHECK_THAT(error.what(), Contains("unknown exception"));
  }
}

TEST_CASE("an operation may throw the error of another one") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push([] { throw std::runtime_error("the first"); }, {}, {x});
  std::exception_ptr first;
  try {
    engine.wait_for_var(x);
  } catch (const OpError&) {
    first = std::current_exception();
  }
  const std::uint64_t second = engine.push([first] { std::rethrow_exception(first); }, {}, {y});
  try {
    engine.wait_for_var(y);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.sequence() == second);
    CHECK_THAT(error.what(), Contains("the first"));
  }
}

TEST_CASE("a context that nobody gave is not asked to stop") {
  CHECK_FALSE(RunContext().stop_requested());
}

TEST_CASE(
    "the naive engine's shutdown ends at its deadline while another thread's operation runs") {
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  Engine engine(options);
  Gate started;
  Gate released;
  std::jthread pusher([&] {
    engine.push(
        [&] {
          started.open();
          released.wait();
        },
        {}, {});
  });
  started.wait();
  const ShutdownReport report =
      engine.shutdown(ShutdownMode::kDrain, std::chrono::milliseconds(10));
  CHECK(report.abandoned >= 1);
  released.open();
  pusher.join();
  CHECK(engine.shutdown().completed == 1);
}

TEST_CASE("cancelling the naive engine skips what a running operation has pushed") {
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  Engine engine(options);
  const Var x = engine.new_variable();
  Gate started;
  Counter ran;
  std::jthread pusher([&] {
    engine.push(
        [&](RunContext& context) {
          engine.push([&ran] { ran.add(); }, {}, {x});
          started.open();
          while (!context.stop_requested()) std::this_thread::yield();
        },
        {}, {});
  });
  started.wait();
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel);
  pusher.join();
  CHECK(report.completed == 1);
  CHECK(report.cancelled == 1);
  CHECK(ran.value() == 0);
  CHECK_THROWS_AS(engine.wait_for_var(x), EngineStopped);
}

}  // namespace
}  // namespace heddle
