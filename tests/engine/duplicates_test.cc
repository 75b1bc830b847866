#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"

// A variable may be named several times in one push; mutating wins over reading.

namespace heddle {
namespace {

TEST_CASE("a variable named twice in one list counts once") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int runs = 0;
  engine.push([&runs] { ++runs; }, {}, {x, x, x});
  engine.push([&runs] { ++runs; }, {x, x}, {});
  engine.wait_for_all();
  CHECK(runs == 2);
  CHECK(engine.version(x) == 1);
}

TEST_CASE("a variable that is read and mutated is mutated") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<int> order;  // safe only if the operations exclude each other
  for (int i = 0; i < 200; ++i) {
    engine.push([&order, i] { order.push_back(i); }, {x, x}, {x, x});
  }
  engine.wait_for_all();
  REQUIRE(order.size() == 200);
  CHECK(order.front() == 0);
  CHECK(order.back() == 199);
  CHECK(engine.version(x) == 200);
}

TEST_CASE("copies of a handle are the same variable") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var copy = x;
  engine.push([] {}, {copy}, {x});
  engine.push([] {}, {}, {x, copy});
  engine.wait_for_var(copy);
  CHECK(engine.version(copy) == 2);
}

TEST_CASE("many duplicates in long lists are folded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::vector<Var> vars;
  for (int i = 0; i < 50; ++i) vars.push_back(engine.new_variable());
  std::vector<Var> reads;
  for (int round = 0; round < 4; ++round) reads.insert(reads.end(), vars.begin(), vars.end());
  const std::vector<Var> mutates(vars.begin(), vars.begin() + 25);
  for (int i = 0; i < 20; ++i) engine.push([] {}, reads, mutates);
  engine.wait_for_all();
  CHECK(engine.version(vars[0]) == 20);
  CHECK(engine.version(vars[24]) == 20);
  CHECK(engine.version(vars[25]) == 0);
}

}  // namespace
}  // namespace heddle
