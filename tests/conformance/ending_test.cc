#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/conformance/target.h"
#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/made_error.h"

// Operations that somebody else ends, that are cancelled, and engines that end with work on
// devices.

namespace heddle::conformance {
namespace {

using Catch::Matchers::Contains;
using support::ForeignThread;
using support::made_error;
using support::parallel_engines;

TEST_CASE("an asynchronous operation ends on every device when another thread says so") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  ForeignThread foreign;
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  int seen = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    engine.push_async(
        [&](RunContext&, Completion completion) {
          foreign.post([&value, completion = std::move(completion)]() mutable {
            ++value;
            completion.done();
          });
        },
        {}, {x}, {.device = device(i), .lane = Lane::kCopyIn});
    engine.push([&](const RunContext& context) { in_stream(context, [&] { seen += value; }); }, {x},
                {x}, {.device = device(i + 1)});
  }
  engine.wait_for_var(x);
  CHECK(value == 50);
  CHECK(seen == 1275);
}

TEST_CASE("an asynchronous operation that fails poisons what follows on other devices") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  ForeignThread foreign;
  Engine engine(options);
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    engine.push_async(
        [&foreign](RunContext&, Completion completion) {
          foreign.post([completion = std::move(completion)]() mutable {
            completion.fail(made_error("far away"));
          });
        },
        {}, {x}, {.device = device(i)});
    engine.push([] {}, {x}, {y}, {.device = device(i + 1), .lane = Lane::kCopyIn});
    CHECK_THROWS_WITH(engine.wait_for_var(y), Contains("far away"));
  }
}

TEST_CASE("an asynchronous operation whose completion is dropped fails on every device") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  for (const Device where : devices()) {
    const Var x = engine.new_variable();
    engine.push_async([](RunContext&, Completion) {}, {}, {x}, {.device = where});
    CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("completion dropped"));
  }
}

TEST_CASE("a group that is cancelled is skipped on every device, and others run") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  support::Counter ran;
  const auto run = [&ran] { ran.add(); };
  HeldStream held(engine, {}, {x}, {.device = device(0), .lane = Lane::kCopyIn});
  held.wait_until_started();
  // Behind an operation of the host nothing is issued before it has ended.
  engine.push([] {}, {}, {x});
  std::vector<Var> skipped;
  std::vector<Var> others;
  for (const Device where : devices()) {
    skipped.push_back(engine.new_variable());
    others.push_back(engine.new_variable());
    engine.push(run, {x}, {skipped.back()}, {.device = where, .cancel = source.token()});
    engine.push(run, {x}, {others.back()}, {.device = where});
  }
  source.cancel();
  held.release();
  for (const Var& var : skipped) CHECK_THROWS_AS(engine.wait_for_var(var), Cancelled);
  for (const Var& var : others) engine.wait_for_var(var);
  CHECK(ran.value() == devices().size());
}

TEST_CASE("an engine that is drained has done what all streams were given") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::size_t value = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    engine.push([&value](const RunContext& context) { in_stream(context, [&value] { ++value; }); },
                {}, {x}, {.device = device(i), .lane = stream_lanes()[i / 3 % 4]});
  }
  const ShutdownReport report = engine.shutdown();
  CHECK(value == 200);
  CHECK(report.completed == 200);
  CHECK(report.abandoned == 0);
}

TEST_CASE("an engine that is cancelled ends once its streams have done what they had begun") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  for (std::size_t i = 0; i < 300; ++i) {
    engine.push([](const RunContext& context) { in_stream(context, [] {}); }, {}, {x},
                {.device = device(i), .lane = stream_lanes()[i / 3 % 4]});
  }
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel);
  CHECK(report.completed + report.cancelled == 300);
  CHECK(report.failed == 0);
  CHECK(report.abandoned == 0);
}

TEST_CASE("an engine that ends at its deadline leaves a stream that stands still behind") {
  EngineOptions options;
  options.cpu_workers = 4;
  Engine engine(options);
  for (std::size_t i = 0; i < devices().size(); ++i) {
    const Var x = engine.new_variable();
    engine.push([] {}, {}, {x}, {.device = device(i)});
    engine.wait_for_var(x);
  }
  const Var y = engine.new_variable();
  HeldStream held(engine, {}, {y}, {.device = device(0), .lane = Lane::kCopyIn});
  held.wait_until_started();
  const ShutdownReport report =
      engine.shutdown(ShutdownMode::kDrain, std::chrono::milliseconds(50));
  CHECK(report.completed == devices().size());
  CHECK(report.abandoned == 1);
  held.release();
}

TEST_CASE("engines on all devices come and go, with work in flight when they end") {
  constexpr std::size_t kEngines = 20;
  support::Counter ran;
  for (std::size_t i = 0; i < kEngines; ++i) {
    Engine engine;
    const Var x = engine.new_variable();
    for (const Device where : devices()) {
      engine.push([&ran](const RunContext& context) { in_stream(context, [&ran] { ran.add(); }); },
                  {}, {x}, {.device = where, .lane = stream_lanes()[i % 4]});
    }
  }
  CHECK(ran.value() == kEngines * devices().size());
}

TEST_CASE("two engines use the same devices at a time") {
  Engine first;
  Engine second;
  const Var x = first.new_variable();
  const Var y = second.new_variable();
  HeldStream held(first, {}, {x}, {.device = device(0), .lane = Lane::kCopyIn});
  held.wait_until_started();
  int value = 0;
  for (int i = 0; i < 100; ++i) {
    second.push([&value](const RunContext&) { ++value; }, {}, {y},
                {.device = device(0), .lane = Lane::kCopyIn});
  }
  second.wait_for_var(y);
  CHECK(value == 100);
}

}  // namespace
}  // namespace heddle::conformance
