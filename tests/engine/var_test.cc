#include "heddle/var.h"

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

namespace heddle {
namespace {

static_assert(sizeof(VarRef) == 8);
static_assert(std::is_nothrow_copy_constructible_v<Var>);
static_assert(std::is_nothrow_move_constructible_v<Var>);

EngineOptions naive() {
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  return options;
}

/// The variables of a list, as a callee sees them.
std::vector<detail::VarState*> states(VarList list) {
  std::vector<detail::VarState*> result;
  for (std::size_t i = 0; i < list.size(); ++i) result.push_back(list[i]);
  return result;
}

TEST_CASE("a default variable refers to nothing") {
  const Var none;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK(none == Var());
  CHECK(none.name().empty());
}

TEST_CASE("copies refer to the same variable, two new variables differ") {
  Engine engine(naive());
  const Var x = engine.new_variable();
  const Var copy = x;
  CHECK(static_cast<bool>(x));
  CHECK(copy == x);
  CHECK_FALSE(engine.new_variable() == x);
}

TEST_CASE("moving a handle empties the source") {
  Engine engine(naive());
  Var x = engine.new_variable();
  const Var copy = x;
  const Var moved = std::move(x);
  CHECK_FALSE(static_cast<bool>(x));  // NOLINT(bugprone-use-after-move): that is the subject
  CHECK(moved == copy);
}

TEST_CASE("a handle may be assigned to itself") {
  Engine engine(naive());
  Var x = engine.new_variable("x");
  const Var& same = x;
  x = same;
  CHECK(x.name() == "x");
}

TEST_CASE("a variable has the name it was given, or one of its own") {
  Engine engine(naive());
  CHECK(engine.new_variable("weights").name() == "weights");
  const Var first = engine.new_variable();
  const Var second = engine.new_variable("");
  CHECK_FALSE(first.name().empty());
  CHECK_FALSE(second.name().empty());
  CHECK(first.name() != second.name());
}

TEST_CASE("two variables may have the same name") {
  Engine engine(naive());
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("x");
  CHECK_FALSE(x == y);
}

TEST_CASE("a list is made from braces, vectors, arrays and spans") {
  Engine engine(naive());
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const std::vector<detail::VarState*> expected = {VarRef(x).state(), VarRef(y).state()};
  const std::vector<Var> vector = {x, y};
  const std::array<Var, 2> array = {x, y};
  CHECK(states({x, y}) == expected);
  CHECK(states(vector) == expected);
  CHECK(states(array) == expected);
  CHECK(states(std::span<const Var>(vector)) == expected);
  CHECK(states({x}) == std::vector{expected[0]});
}

TEST_CASE("an empty list has no variables, however it is made") {
  CHECK(VarList().size() == 0);
  CHECK(VarList{}.size() == 0);
  CHECK(states({}).empty());
  CHECK(states(std::vector<Var>()).empty());
  CHECK(states(std::array<Var, 0>()).empty());
  CHECK(states(std::span<const Var>()).empty());
}

TEST_CASE("every form of list may be pushed with") {
  Engine engine(naive());
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const std::vector<Var> vector = {x, y};
  const std::array<Var, 2> array = {x, y};
  engine.push([] {}, {}, {x, y});
  engine.push([] {}, {}, vector);
  engine.push([] {}, {}, array);
  engine.push([] {}, {}, std::span<const Var>(vector));
  engine.push([] {}, vector, {});
  CHECK(engine.version(x) == 4);
  CHECK(engine.version(y) == 4);
}

TEST_CASE("a list shows an empty variable as it is") {
  const std::vector<Var> vector = {Var()};
  CHECK(states(vector) == std::vector<detail::VarState*>{nullptr});
  CHECK(states({Var()}) == std::vector<detail::VarState*>{nullptr});
}

}  // namespace
}  // namespace heddle
