#include <memory>
#include <optional>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"

// CancelSource and CancelToken as handles: who holds a group, and what a group holds.

namespace heddle {
namespace {

TEST_CASE("copies of a source and of its token stand for the same group") {
  CancelSource source;
  const CancelToken before = source.token();
  CancelSource copy = source;
  copy.cancel();
  CHECK(source.cancelled());
  CHECK(before.cancelled());
  CHECK(before == copy.token());
  CHECK(before != CancelSource().token());
}

TEST_CASE("an empty token names no group and is never cancelled") {
  const CancelToken none;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK_FALSE(none.cancelled());
  CHECK(static_cast<bool>(CancelSource().token()));
}

TEST_CASE("a token may outlive its source and its engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  auto source = std::make_optional<CancelSource>();
  const CancelToken token = source->token();
  int ran = 0;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    engine.push([&ran] { ++ran; }, {}, {x}, {.cancel = token});
    source.reset();
    engine.push([&ran] { ++ran; }, {}, {x}, {.cancel = token});
    engine.wait_for_var(x);
  }
  CHECK(ran == 2);
  CHECK_FALSE(token.cancelled());
}

TEST_CASE("an engine may end with operations of a cancelled group that nobody waited for") {
  HEDDLE_FOR_EACH(options, every_engine);
  auto held = std::make_shared<int>(0);
  CancelSource source;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    source.cancel();
    for (int i = 0; i < 100; ++i) {
      engine.push([held] { ++*held; }, {}, {x}, {.cancel = source.token()});
    }
  }
  CHECK(*held == 0);
  CHECK(held.use_count() == 1);
}

TEST_CASE("a group may have operations of several engines") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine first(options);
  Engine second(options);
  const Var x = first.new_variable();
  const Var y = second.new_variable();
  CancelSource source;
  int ran = 0;
  first.push([&ran] { ++ran; }, {}, {x}, {.cancel = source.token()});
  first.wait_for_var(x);
  source.cancel();
  first.push([&ran] { ++ran; }, {}, {x}, {.cancel = source.token()});
  second.push([&ran] { ++ran; }, {}, {y}, {.cancel = source.token()});
  CHECK_THROWS_AS(first.wait_for_var(x), Cancelled);
  CHECK_THROWS_AS(second.wait_for_var(y), Cancelled);
  CHECK(ran == 1);
}

TEST_CASE("the callable of a cancelled operation is destroyed without having run") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  source.cancel();
  auto held = std::make_shared<int>(0);
  engine.push([held] { ++*held; }, {}, {x}, {.cancel = source.token()});
  engine.push_async([held](const RunContext&, const Completion&) { ++*held; }, {}, {x},
                    {.cancel = source.token()});
  engine.clear_error(x);
  engine.wait_for_var(x);
  CHECK(*held == 0);
  CHECK(held.use_count() == 1);
}

}  // namespace
}  // namespace heddle
