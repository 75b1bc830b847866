#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"
#include "tests/support/made_error.h"

// push_async: the operation ends when its token says so.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::ForeignThread;
using support::Gate;
using support::made_error;

static_assert(!std::is_copy_constructible_v<Completion>);
static_assert(!std::is_copy_assignable_v<Completion>);
static_assert(std::is_nothrow_move_constructible_v<Completion>);
static_assert(std::is_nothrow_move_assignable_v<Completion>);

/// What waiting for `var` throws, or "".
std::string error_of(Engine& engine, const Var& var) {
  try {
    engine.wait_for_var(var);
  } catch (const OpError& error) {
    return error.what();
  }
  return {};
}

/// The texts of the errors that wait_for_all throws.
std::string all_errors(Engine& engine) {
  std::string texts;
  try {
    engine.wait_for_all();
  } catch (const AggregateError& error) {
    for (const OpError& each : error.errors()) texts += std::string(each.what()) + '\n';
  }
  return texts;
}

TEST_CASE("an asynchronous operation ends with done(), on any thread") {
  HEDDLE_FOR_EACH(options, every_engine);
  ForeignThread foreign;
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  int seen = 0;
  for (int i = 0; i < 100; ++i) {
    engine.push_async(
        [&](RunContext&, Completion completion) {
          foreign.post([&value, completion = std::move(completion)]() mutable {
            ++value;
            completion.done();
          });
        },
        {}, {x});
    engine.push([&] { seen += value; }, {x}, {x});
  }
  CHECK(error_of(engine, x).empty());
  CHECK(value == 100);
  CHECK(seen == 5050);
  CHECK(engine.version(x) == 200);
}

TEST_CASE("an asynchronous operation may end inside its callable") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async([](RunContext&, Completion completion) { completion.done(); }, {}, {x});
  CHECK(error_of(engine, x).empty());
  engine.push_async(
      [](RunContext&, Completion completion) { completion.fail(made_error("no luck")); }, {}, {x});
  CHECK_THAT(error_of(engine, x), Contains("no luck"));
}

TEST_CASE("a pending asynchronous operation holds back what conflicts, but no worker") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::optional<Completion> kept;
  Gate stored;
  std::atomic<bool> ran{false};
  engine.push_async(
      [&](RunContext&, Completion completion) {
        kept.emplace(std::move(completion));
        stored.open();
      },
      {}, {x});
  engine.push([&ran] { ran = true; }, {x}, {});
  stored.wait();
  for (int i = 0; i < 100; ++i) engine.push([] {}, {}, {y});
  engine.wait_for_var(y);
  CHECK_FALSE(ran);
  kept->done();
  engine.wait_for_all();
  CHECK(ran);
}

TEST_CASE("a token dropped without a word fails the operation") {
  HEDDLE_FOR_EACH(options, every_engine);
  ForeignThread foreign;
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push_async([](RunContext&, Completion) {}, {}, {x});
  engine.push_async(
      [&foreign](RunContext&, Completion completion) {
        foreign.post([completion = std::move(completion)] {});
      },
      {}, {y});
  CHECK_THAT(error_of(engine, x), Contains("completion dropped"));
  CHECK_THAT(error_of(engine, y), Contains("completion dropped"));
}

TEST_CASE("a token that another one is moved onto is dropped") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::optional<Completion> kept;
  Gate stored;
  engine.push_async(
      [&](RunContext&, Completion completion) {
        kept.emplace(std::move(completion));
        stored.open();
      },
      {}, {x});
  stored.wait();
  engine.push_async(
      [&kept](RunContext&, Completion completion) {
        *kept = std::move(completion);
        kept->done();
      },
      {}, {y});
  CHECK_THAT(error_of(engine, x), Contains("completion dropped"));
  CHECK(error_of(engine, y).empty());
}

TEST_CASE("fail without a reason is completion failed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async([](RunContext&, Completion completion) { completion.fail(nullptr); }, {}, {x});
  CHECK_THAT(error_of(engine, x), Contains("completion failed"));
}

TEST_CASE("a token used twice is reported and otherwise ignored") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async(
      [](RunContext&, Completion completion) {
        completion.done();
        completion.fail(made_error("too late"));
      },
      {}, {x}, {.name = "eager"});
  CHECK(error_of(engine, x).empty());
  CHECK(engine.version(x) == 1);
  CHECK_THAT(all_errors(engine), Contains("eager"));
  CHECK(all_errors(engine).empty());
}

TEST_CASE("done after fail does not heal") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async(
      [](RunContext&, Completion completion) {
        completion.fail(made_error("first"));
        completion.done();
      },
      {}, {x});
  CHECK_THAT(error_of(engine, x), Contains("first"));
  CHECK_FALSE(all_errors(engine).empty());  // the second use
}

TEST_CASE("an exception that leaves the callable before completion wins over the dropped token") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async([](RunContext&, Completion) { throw std::runtime_error("from the callable"); },
                    {}, {x});
  const std::string error = error_of(engine, x);
  CHECK_THAT(error, Contains("from the callable"));
  CHECK_THAT(error, !Contains("dropped"));
  CHECK(all_errors(engine).empty());
}

TEST_CASE("an exception that leaves the callable wins over a token that is still held") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::optional<Completion> kept;
  engine.push_async(
      [&kept](RunContext&, Completion completion) {
        kept.emplace(std::move(completion));
        throw std::runtime_error("from the callable");
      },
      {}, {x});
  CHECK_THAT(error_of(engine, x), Contains("from the callable"));
  kept.reset();
  CHECK(all_errors(engine).empty());
}

TEST_CASE("an exception after done() is reported and does not poison") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async(
      [](RunContext&, Completion completion) {
        completion.done();
        throw std::runtime_error("an afterthought");
      },
      {}, {x});
  CHECK(error_of(engine, x).empty());
  CHECK_THAT(all_errors(engine), Contains("an afterthought"));
}

TEST_CASE("an exception after fail() is reported and leaves the error of fail()") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push_async(
      [](RunContext&, Completion completion) {
        completion.fail(made_error("the cause"));
        throw std::runtime_error("an afterthought");
      },
      {}, {x});
  CHECK_THAT(error_of(engine, x), Contains("the cause"));
  CHECK_THAT(all_errors(engine), Contains("an afterthought"));
}

TEST_CASE("a completion may be used after its operation and its engine are gone") {
  HEDDLE_FOR_EACH(options, every_engine);
  std::optional<Completion> kept;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    engine.push_async(
        [&kept](RunContext&, Completion completion) {
          completion.done();
          kept.emplace(std::move(completion));
        },
        {}, {x});
    engine.wait_for_var(x);
  }
  CHECK_NOTHROW(kept->done());
  CHECK_NOTHROW(kept.reset());
}

TEST_CASE("a completion held beyond an abandoning shutdown may be used after the engine is gone") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  std::optional<Completion> kept;
  ForeignThread foreign;
  {
    Engine engine(options);
    const Var x = engine.new_variable();
    Gate stored;
    engine.push_async(
        [&](RunContext&, Completion completion) {
          kept.emplace(std::move(completion));
          stored.open();
        },
        {}, {x});
    stored.wait();
    const ShutdownReport report =
        engine.shutdown(ShutdownMode::kDrain, std::chrono::milliseconds(10));
    CHECK(report.abandoned == 1);
    foreign.post([&kept] { kept->done(); });
  }
  CHECK_NOTHROW(kept->fail(nullptr));
}

TEST_CASE("a moved-from completion is an argument error") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::atomic<int> errors{0};
  engine.push_async(
      [&errors](RunContext&, Completion completion) {
        Completion taken = std::move(completion);
        try {
          completion.done();  // NOLINT(bugprone-use-after-move): that is the subject
        } catch (const std::invalid_argument&) {
          ++errors;
        }
        taken.done();
      },
      {}, {});
  engine.wait_for_all();
  CHECK(errors == 1);
}

TEST_CASE("the run context of an asynchronous operation may be kept until completion") {
  HEDDLE_FOR_EACH(options, every_engine);
  ForeignThread foreign;
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<std::uint64_t> sequence{0};
  const std::uint64_t pushed = engine.push_async(
      [&](RunContext& context, Completion completion) {
        foreign.post([&sequence, context, completion = std::move(completion)]() mutable {
          if (!context.stop_requested()) sequence = context.sequence;
          completion.done();
        });
      },
      {}, {x});
  engine.wait_for_var(x);
  CHECK(sequence == pushed);
}

}  // namespace
}  // namespace heddle
