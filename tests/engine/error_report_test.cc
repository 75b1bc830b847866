#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"

// wait_for_all tells each error once; no error is lost.

namespace heddle {
namespace {

using Catch::Matchers::Contains;

void fail() { throw std::runtime_error("boom"); }

/// The sequence numbers of the errors that wait_for_all throws.
std::vector<std::uint64_t> collect(Engine& engine) {
  std::vector<std::uint64_t> sequences;
  try {
    engine.wait_for_all();
  } catch (const AggregateError& error) {
    for (const OpError& each : error.errors()) sequences.push_back(each.sequence());
  }
  return sequences;
}

TEST_CASE("wait_for_all throws every root, in order, once") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const std::uint64_t first = engine.push(fail, {}, {x});
  engine.push([] {}, {x}, {y});  // skipped: no root
  const std::uint64_t second = engine.push(fail, {}, {});
  const std::uint64_t third = engine.push(fail, {}, {engine.new_variable()});
  CHECK(collect(engine) == std::vector{first, second, third});
  CHECK(collect(engine).empty());
}

TEST_CASE("an error that wait_for_var threw is not thrown by wait_for_all again") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push(fail, {}, {x});
  const std::uint64_t other = engine.push(fail, {}, {y});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK(collect(engine) == std::vector{other});
}

TEST_CASE("the poison stays after wait_for_all has thrown") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push(fail, {}, {x});
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("an error is reported although its variable was overwritten, cleared or deleted") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var overwritten = engine.new_variable();
  const Var cleared = engine.new_variable();
  const Var deleted = engine.new_variable();
  const std::uint64_t first = engine.push(fail, {}, {overwritten});
  const std::uint64_t second = engine.push(fail, {}, {cleared});
  const std::uint64_t third = engine.push(fail, {}, {deleted});
  engine.push([] {}, {}, {overwritten}, {.overwrites = true});
  engine.clear_error(cleared);
  engine.delete_variable(deleted);
  CHECK(collect(engine) == std::vector{first, second, third});
}

TEST_CASE("the first 1,024 unreported errors are kept, the rest are counted") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  for (int i = 0; i < 1500; ++i) engine.push(fail, {}, {x}, {.overwrites = true});
  try {
    engine.wait_for_all();
    FAIL("no error");
  } catch (const AggregateError& error) {
    REQUIRE(error.errors().size() == 1024);
    CHECK(error.omitted() == 476);
    CHECK(error.errors().front().sequence() == 1);
    CHECK(error.errors().back().sequence() == 1024);
  }
  CHECK_NOTHROW(engine.wait_for_all());
  const std::uint64_t next = engine.push(fail, {}, {});
  CHECK(collect(engine) == std::vector{next});
}

TEST_CASE("errors of many threads are all reported") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::vector<std::vector<std::uint64_t>> pushed(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<std::uint64_t>& mine : pushed) {
      threads.emplace_back([&engine, &mine] {
        for (int i = 0; i < 100; ++i) mine.push_back(engine.push(fail, {}, {}));
      });
    }
  }
  const std::vector<std::uint64_t> reported = collect(engine);
  CHECK(reported.size() == 400);
  CHECK(std::is_sorted(reported.begin(), reported.end()));
  for (const std::vector<std::uint64_t>& mine : pushed) {
    CHECK(std::includes(reported.begin(), reported.end(), mine.begin(), mine.end()));
  }
}

TEST_CASE("wait_for_all covers and reports what operations push") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::atomic<std::uint64_t> child{0};
  engine.push([&] { engine.push([&] { child = engine.push(fail, {}, {}); }, {}, {}); }, {}, {});
  const std::vector<std::uint64_t> reported = collect(engine);
  CHECK(reported == std::vector<std::uint64_t>{child});
  CHECK(child == 3);
}

/// A callable whose destructor throws unless it was moved from.
struct ThrowsWhenDestroyed {
  explicit ThrowsWhenDestroyed() : armed(std::make_unique<int>(0)) {}
  ThrowsWhenDestroyed(ThrowsWhenDestroyed&&) noexcept = default;
  ~ThrowsWhenDestroyed() noexcept(false) {
    if (armed) throw std::runtime_error("from the destructor");
  }
  void operator()() const {}

  std::unique_ptr<int> armed;
};

TEST_CASE("what a callable's destructor throws is the operation's error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push(ThrowsWhenDestroyed(), {}, {x});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK_THAT(error.what(), Contains("from the destructor"));
  }
}

/// The same for push_async. It gives its completion away, or uses it at once.
struct AsyncThrowsWhenDestroyed : ThrowsWhenDestroyed {
  explicit AsyncThrowsWhenDestroyed(std::optional<Completion>* keeper) : kept(keeper) {}
  void operator()(RunContext& /*context*/, Completion completion) const {
    if (kept == nullptr) {
      completion.done();
    } else {
      kept->emplace(std::move(completion));
    }
  }

  std::optional<Completion>* kept;
};

TEST_CASE("what an asynchronous callable's destructor throws before the end is the error") {
  HEDDLE_FOR_EACH(options, every_engine);
  std::optional<Completion> kept;
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async(AsyncThrowsWhenDestroyed(&kept), {}, {x});
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("from the destructor"));
  kept->done();  // too late, and no use is reported
  CHECK_NOTHROW(engine.wait_for_all());
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("from the destructor"));
}

TEST_CASE("what an asynchronous callable's destructor throws wins over the dropped completion") {
  HEDDLE_FOR_EACH(options, every_engine);
  struct Drops : ThrowsWhenDestroyed {
    void operator()(RunContext& /*context*/, Completion /*completion*/) const {}
  };
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async(Drops(), {}, {x});
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("from the destructor"));
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("what an asynchronous callable's destructor throws after done poisons nothing") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const std::uint64_t sequence = engine.push_async(AsyncThrowsWhenDestroyed(nullptr), {}, {x});
  CHECK_NOTHROW(engine.wait_for_var(x));
  CHECK(collect(engine) == std::vector<std::uint64_t>{sequence});
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("a skipped operation's callable may throw when destroyed without ending the process") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const std::uint64_t root = engine.push(fail, {}, {x});
  engine.push(ThrowsWhenDestroyed(), {}, {x});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.sequence() == root);
  }
}

TEST_CASE("an exception may push when it is destroyed") {
  HEDDLE_FOR_EACH(options, every_engine);
  struct Thrown {
    std::shared_ptr<void> last;
  };
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<int> pushed{0};
  const auto push = [&](void*) { engine.push([&pushed] { ++pushed; }, {}, {}); };
  engine.push([&push] { throw Thrown{std::shared_ptr<void>(nullptr, push)}; }, {}, {x});
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
  CHECK(pushed == 0);
  engine.push([] {}, {}, {x}, {.overwrites = true});  // the error is not needed any more
  while (pushed == 0) engine.wait_for_all();
  CHECK(pushed == 1);
}

TEST_CASE("an exception that nobody was told of may push when its engine goes") {
  HEDDLE_FOR_EACH(options, every_engine);
  struct Thrown {
    std::shared_ptr<void> last;
  };
  std::atomic<int> pushed{0};
  {
    Engine engine(options);
    const auto push = [&](void*) { engine.push([&pushed] { ++pushed; }, {}, {}); };
    engine.push([&push] { throw Thrown{std::shared_ptr<void>(nullptr, push)}; }, {}, {});
  }
  CHECK(pushed == 1);
}

TEST_CASE("what a variable's last callable throws is reported") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const std::uint64_t root = engine.push(fail, {}, {x});
  engine.delete_variable(x, fail);  // runs although the variable is poisoned
  CHECK(collect(engine) == std::vector<std::uint64_t>{root, root + 1});
}

TEST_CASE("what the destructor of a variable's last callable throws is reported") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  engine.delete_variable(engine.new_variable(), ThrowsWhenDestroyed());
  CHECK_THROWS_WITH(engine.wait_for_all(), Contains("from the destructor"));
}

}  // namespace
}  // namespace heddle
