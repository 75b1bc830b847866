#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/root_of.h"

// What an operation throws poisons what it mutates, and travels with the data.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::Counter;
using support::root_of;

void fail() { throw std::runtime_error("the disk is on fire"); }

TEST_CASE("waiting for what a failed operation mutates throws its OpError") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {});
  const std::uint64_t sequence =
      engine.push(fail, {}, {x}, {.device = Device::cpu(1), .name = "load"});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.op_name() == "load");
    CHECK(error.sequence() == sequence);
    CHECK(error.device() == Device::cpu(1));
    CHECK_THAT(error.what(), Contains("the disk is on fire"));
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), std::runtime_error);
  }
}

TEST_CASE("wait_for_var throws each time") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push(fail, {}, {x});
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(engine.wait_for_var_unused(x), OpError);
}

TEST_CASE("what is not a std::exception is an OpError too") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] { throw 42; }, {}, {x});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK_THAT(error.what(), Contains("unknown exception"));
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), int);
  }
}

TEST_CASE("every variable that the failed operation mutates is poisoned, what it reads is not") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var read = engine.new_variable();
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const std::uint64_t root = engine.push(fail, {read}, {x, y});
  CHECK(root_of(engine, x) == root);
  CHECK(root_of(engine, y) == root);
  CHECK(root_of(engine, read) == 0);
}

TEST_CASE("operations that read or mutate poison are skipped and carry the same root") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const Var z = engine.new_variable();
  Counter ran;
  const std::uint64_t root = engine.push(fail, {}, {x});
  engine.push([&ran] { ran.add(); }, {x}, {y});
  engine.push([&ran] { ran.add(); }, {}, {x});
  engine.push_async([&ran](RunContext&, Completion) { ran.add(); }, {y}, {z});
  CHECK(root_of(engine, z) == root);
  CHECK(root_of(engine, y) == root);
  CHECK(root_of(engine, x) == root);
  CHECK(ran.value() == 0);
}

TEST_CASE("among several roots the one with the lowest sequence wins") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const Var z = engine.new_variable();
  const std::uint64_t first = engine.push(fail, {}, {y});
  const std::uint64_t second = engine.push(fail, {}, {x});
  engine.push([] {}, {x, y}, {z});
  CHECK(root_of(engine, z) == first);
  engine.push([] {}, {y}, {x});  // mutated poison counts as well
  CHECK(root_of(engine, x) == first);
  CHECK(second > first);
}

TEST_CASE("an overwriting operation runs and heals what it mutates") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  int value = 0;
  engine.push(fail, {}, {x, y});
  engine.push([&value] { value = 1; }, {}, {x}, {.overwrites = true});
  CHECK(root_of(engine, x) == 0);
  CHECK(value == 1);
  CHECK(root_of(engine, y) != 0);
}

TEST_CASE("overwriting does not excuse poison in what is read") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Counter ran;
  engine.push(fail, {}, {x});
  const std::uint64_t second = engine.push(fail, {}, {y});
  engine.push([&ran] { ran.add(); }, {y}, {x}, {.overwrites = true});
  CHECK(root_of(engine, x) == second);  // the poison of x itself is excused
  CHECK(ran.value() == 0);
}

TEST_CASE("an overwritten variable that is also read counts as mutated") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push(fail, {}, {x});
  Counter ran;
  engine.push([&ran] { ran.add(); }, {x}, {x}, {.overwrites = true});
  CHECK(root_of(engine, x) == 0);
  CHECK(ran.value() == 1);
}

TEST_CASE("an overwriting operation that fails poisons anew") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push(fail, {}, {x});
  const std::uint64_t second = engine.push(fail, {}, {x}, {.overwrites = true});
  CHECK(root_of(engine, x) == second);
}

TEST_CASE("clear_error takes its place in the program") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var before = engine.new_variable();
  const Var after = engine.new_variable();
  const std::uint64_t root = engine.push(fail, {}, {x});
  engine.push([] {}, {x}, {before});
  engine.clear_error(x);
  engine.push([] {}, {x}, {after});
  CHECK(root_of(engine, x) == 0);
  CHECK(root_of(engine, before) == root);
  CHECK(root_of(engine, after) == 0);
  const std::uint64_t later = engine.push(fail, {}, {x});
  CHECK(root_of(engine, x) == later);
}

TEST_CASE("clear_error on a healthy variable changes nothing") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.clear_error(x);
  engine.push([] {}, {}, {x});
  CHECK_NOTHROW(engine.wait_for_var(x));
}

TEST_CASE("version counts failed and skipped operations too") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CHECK(engine.version(x) == 0);
  engine.push([] {}, {}, {x});
  engine.push(fail, {}, {x});
  engine.push([] {}, {}, {x});  // skipped
  engine.push([] {}, {x}, {});  // no write
  engine.push([] {}, {}, {x}, {.overwrites = true});
  CHECK_NOTHROW(engine.wait_for_var_unused(x));
  CHECK(engine.version(x) == 4);
}

TEST_CASE("not-a-number is a value, not an error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  double value = 0;
  engine.push([&value] { value = std::numeric_limits<double>::quiet_NaN(); }, {}, {x});
  engine.push([&value] { value += 1; }, {x}, {x});
  CHECK_NOTHROW(engine.wait_for_var(x));
  CHECK(std::isnan(value));
}

TEST_CASE("an error does not touch other variables or stop the engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  int value = 0;
  for (int i = 0; i < 100; ++i) {
    engine.push(fail, {}, {x});
    engine.push([&value] { ++value; }, {}, {y});
  }
  CHECK_NOTHROW(engine.wait_for_var(y));
  CHECK(value == 100);
}

TEST_CASE("the error's name of an unnamed operation is operation") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push(fail, {}, {x});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.op_name() == "operation");
  }
}

TEST_CASE("the name given at push is copied") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  {
    std::string name = "a name that is too long for any small buffer of a string";
    engine.push(fail, {}, {x}, {.name = name});
    name.assign(name.size(), '?');
  }
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.op_name() == "a name that is too long for any small buffer of a string");
  }
}

TEST_CASE("an exception may use the engine when it is destroyed") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  struct Deletes {
    Engine& engine;
    Var var;
    std::atomic<bool>& deleted;
    Deletes(Engine& owner, std::atomic<bool>& flag)
        : engine(owner), var(owner.new_variable()), deleted(flag) {}
    ~Deletes() {
      engine.delete_variable(var);
      deleted = true;
    }
  };
  std::atomic<bool> deleted{false};
  const Var x = engine.new_variable();
  engine.push([&] { throw std::make_shared<Deletes>(engine, deleted); }, {}, {x});
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  engine.clear_error(x);
  while (!deleted) std::this_thread::yield();  // perhaps a moment after the variable is healed
  engine.wait_for_all();
}

}  // namespace
}  // namespace heddle
