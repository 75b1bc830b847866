#include <atomic>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/allocated.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"

// Deletion is a variable's last operation; a stale handle is an error, never undefined behaviour.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::allocated;
using support::Counter;
using support::HeldOperation;
using support::Log;

TEST_CASE("last runs once, after all of the variable's operations") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    const Var x = engine.new_variable();
    std::atomic<int> reads{0};
    int lasts = 0;
    int reads_at_last = 0;
    engine.push([] {}, {}, {x});
    for (int i = 0; i < 5; ++i) engine.push([&reads] { ++reads; }, {x}, {});
    engine.delete_variable(x, [&] {
      ++lasts;
      reads_at_last = reads;
    });
    engine.wait_for_all();
    if (lasts != 1 || reads_at_last != 5) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a variable that several pushes have named gives its memory back") {
  // Few at a time: what the engine keeps for the most that were pending changes from run to run.
  constexpr int kVariables = 200;
  constexpr int kRounds = 50;
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const auto use_some = [&engine] {
    for (int i = 0; i < kVariables; ++i) {
      const Var x = engine.new_variable();
      engine.push([] {}, {}, {x});
      for (int reads = 0; reads < 3; ++reads) engine.push([] {}, {x}, {});
    }
    engine.wait_for_all();
  };
  use_some();  // what is kept for ever is there by now
  const std::size_t before = allocated();
  for (int round = 0; round < kRounds; ++round) use_some();
  CHECK(allocated() < before + kRounds * kVariables * std::size_t{64});
}

TEST_CASE("a brief last needs no worker") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  std::deque<HeldOperation> busy;
  for (int i = 0; i < engine.options().cpu_workers; ++i) {
    busy.emplace_back(engine, VarList{}, VarList{});
  }
  bool ran = false;
  engine.delete_variable(engine.new_variable(), [&ran] { ran = true; }, {.brief = true});
  CHECK(ran);
}

TEST_CASE("a brief last may delete the next variable, and so on, as often as there is memory") {
  HEDDLE_FOR_EACH(options, every_engine);
  struct DeletesNext {
    Engine& engine;
    std::vector<Var>& left;
    void operator()() const {
      if (left.empty()) return;
      const Var next = std::move(left.back());
      left.pop_back();
      engine.delete_variable(next, DeletesNext(*this), {.brief = true});
    }
  };
  Engine engine(options);
  std::vector<Var> vars(50'000);
  for (Var& var : vars) var = engine.new_variable();
  engine.push(DeletesNext{engine, vars}, {}, {});
  engine.wait_for_all();
  CHECK(vars.empty());
}

TEST_CASE("delete_variable does not wait for the operations") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {x});
  std::atomic<bool> last{false};
  engine.delete_variable(x, [&last] { last = true; });
  CHECK_FALSE(last);
  held.release();
  engine.wait_for_all();
  CHECK(last);
}

TEST_CASE("a deleted variable is an argument error in every call") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable("embedding");
  const Var copy = x;
  const Var other = engine.new_variable();
  engine.push([] {}, {}, {x});
  engine.delete_variable(x);
  const auto nothing = [] {};
  for (const Var& stale : {x, copy}) {
    CHECK_THROWS_AS(engine.push(nothing, {stale}, {}), std::invalid_argument);
    CHECK_THROWS_AS(engine.push(nothing, {}, {other, stale}), std::invalid_argument);
    CHECK_THROWS_AS(engine.try_push(nothing, {}, {stale}), std::invalid_argument);
    CHECK_THROWS_AS(engine.push_async([](RunContext&, Completion) {}, {stale}, {}),
                    std::invalid_argument);
    CHECK_THROWS_AS(engine.wait_for_var(stale), std::invalid_argument);
    CHECK_THROWS_AS(engine.wait_for_var_unused(stale), std::invalid_argument);
    CHECK_THROWS_AS(engine.version(stale), std::invalid_argument);
    CHECK_THROWS_AS(engine.clear_error(stale), std::invalid_argument);
    CHECK_THROWS_AS(engine.delete_variable(stale), std::invalid_argument);
  }
  CHECK_THROWS_WITH(engine.version(x), Contains("embedding"));
  CHECK_NOTHROW(engine.wait_for_all());
  CHECK(engine.version(other) == 0);
}

TEST_CASE("the handle is stale when delete_variable returns, also while operations pend") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {x});
  engine.delete_variable(x);
  CHECK_THROWS_AS(engine.push([] {}, {x}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.wait_for_var(x), std::invalid_argument);
}

TEST_CASE("last runs although the variable is poisoned") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Counter lasts;
  engine.push([] { throw 1; }, {}, {x});
  engine.delete_variable(x, [&lasts] { lasts.add(); });
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  CHECK(lasts.value() == 1);
}

TEST_CASE("what last throws is reported") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  engine.delete_variable(engine.new_variable(), [] { throw std::runtime_error("last words"); });
  try {
    engine.wait_for_all();
    FAIL("no error");
  } catch (const AggregateError& error) {
    REQUIRE(error.errors().size() == 1);
    CHECK(error.errors()[0].sequence() == 1);
    CHECK_THAT(error.errors()[0].what(), Contains("last words"));
  }
}

TEST_CASE("a variable may be deleted without a callable") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  engine.delete_variable(engine.new_variable());
  engine.delete_variable(engine.new_variable(), nullptr);
  engine.delete_variable(engine.new_variable(), UniqueFunction<void()>());
  CHECK_NOTHROW(engine.wait_for_all());
  CHECK(engine.push([] {}, {}, {}) == 4);
}

TEST_CASE("a variable may be deleted inside its own operation") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<std::string> log;
  engine.push(
      [&] {
        engine.delete_variable(x, [&log] { log.add("last"); });
        log.add("operation");
      },
      {}, {x});
  engine.wait_for_all();
  CHECK(log.entries() == std::vector<std::string>{"operation", "last"});
}

TEST_CASE("a variable is freed when its last handle goes, with operations pending") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter ran;
  for (int i = 0; i < 1000; ++i) {
    const Var x = engine.new_variable();
    engine.push([&ran] { ran.add(); }, {}, {x});
    engine.push([&ran] { ran.add(); }, {x}, {});
  }
  engine.wait_for_all();
  CHECK(ran.value() == 2000);
  CHECK(engine.push([] {}, {}, {}) == 2001);
}

TEST_CASE("a variable of another engine is an argument error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Engine other(options);
  const Var theirs = other.new_variable("theirs");
  const auto nothing = [] {};
  CHECK_THROWS_AS(engine.push(nothing, {theirs}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.wait_for_var(theirs), std::invalid_argument);
  CHECK_THROWS_AS(engine.version(theirs), std::invalid_argument);
  CHECK_THROWS_AS(engine.clear_error(theirs), std::invalid_argument);
  CHECK_THROWS_AS(engine.delete_variable(theirs), std::invalid_argument);
  CHECK_THROWS_WITH(engine.version(theirs), Contains("theirs"));
  CHECK_NOTHROW(other.wait_for_var(theirs));
}

TEST_CASE("an empty variable is an argument error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var none;
  const auto nothing = [] {};
  CHECK_THROWS_AS(engine.push(nothing, {none}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(nothing, {}, {none}), std::invalid_argument);
  CHECK_THROWS_AS(engine.wait_for_var(none), std::invalid_argument);
  CHECK_THROWS_AS(engine.wait_for_var_unused(none), std::invalid_argument);
  CHECK_THROWS_AS(engine.version(none), std::invalid_argument);
  CHECK_THROWS_AS(engine.clear_error(none), std::invalid_argument);
  CHECK_THROWS_AS(engine.delete_variable(none), std::invalid_argument);
}

TEST_CASE("handles may outlive their engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  std::optional<Engine> engine(options);
  Engine other(options);
  Var x = engine->new_variable("survivor");
  const Var poisoned = engine->new_variable();
  engine->push([] { throw 1; }, {}, {poisoned});
  engine.reset();
  const Var copy = x;
  CHECK(copy == x);
  CHECK(copy.name() == "survivor");
  CHECK_THROWS_AS(other.push([] {}, {x}, {}), std::invalid_argument);
  CHECK_THROWS_AS(other.wait_for_var(copy), std::invalid_argument);
  x = Var();
  CHECK_FALSE(static_cast<bool>(x));
}

TEST_CASE("many threads may delete their variables while others push") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter lasts;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&engine, &lasts] {
        for (int i = 0; i < 100; ++i) {
          const Var x = engine.new_variable();
          engine.push([] {}, {}, {x});
          engine.push([] {}, {x}, {});
          engine.delete_variable(x, [&lasts] { lasts.add(); });
        }
      });
    }
  }
  engine.wait_for_all();
  CHECK(lasts.value() == 400);
}

TEST_CASE("of several threads that delete one variable exactly one succeeds") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter lasts;
  std::atomic<int> refused{0};
  for (int round = 0; round < 20; ++round) {
    const Var x = engine.new_variable();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        try {
          engine.delete_variable(x, [&lasts] { lasts.add(); });
        } catch (const std::invalid_argument&) {
          ++refused;
        }
      });
    }
  }
  engine.wait_for_all();
  CHECK(lasts.value() == 20);
  CHECK(refused == 60);
}

}  // namespace
}  // namespace heddle
