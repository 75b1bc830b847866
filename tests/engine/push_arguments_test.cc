#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/lanes.h"

// What push takes: any callable, and what it refuses.

namespace heddle {
namespace {

using Catch::Matchers::Equals;
using support::Counter;
using support::HeldOperation;
using support::kLanes;
using support::limited;
using support::Log;

int g_calls = 0;
void count_call() { ++g_calls; }
void count_call_with_context(RunContext&) { ++g_calls; }

TEST_CASE("push takes functions, pointers, function objects and move-only callables") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  g_calls = 0;
  engine.push(count_call, {}, {x});
  engine.push(&count_call, {}, {x});
  engine.push(count_call_with_context, {}, {x});
  engine.push(std::function<void()>(count_call), {}, {x});
  engine.push(std::function<void(RunContext&)>(count_call_with_context), {}, {x});
  engine.push([moved = std::make_unique<int>(1)] { g_calls += *moved; }, {}, {x});
  engine.push(UniqueFunction<void()>(count_call), {}, {x});
  engine.push(UniqueFunction<void(RunContext&)>(count_call_with_context), {}, {x});
  engine.wait_for_all();
  CHECK(g_calls == 8);
}

TEST_CASE("what a callable returns is discarded") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter ran;
  engine.push(
      [&ran] {
        ran.add();
        return 5;
      },
      {}, {});
  engine.push(
      [&ran](RunContext&) {
        ran.add();
        return std::make_unique<int>(1);
      },
      {}, {});
  engine.wait_for_all();
  CHECK(ran.value() == 2);
}

TEST_CASE("a callable that takes a context or nothing gets the context") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Log<int> log;
  struct Both {
    Log<int>& log;
    void operator()() const { log.add(0); }
    void operator()(RunContext&) const { log.add(1); }
  };
  engine.push(Both{log}, {}, {});
  engine.wait_for_all();
  CHECK(log.entries() == std::vector{1});
}

TEST_CASE("a mutable callable keeps its state to itself") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<int> log;
  auto fn = [&log, n = 0]() mutable { log.add(++n); };
  engine.push(fn, {}, {x});
  engine.push(fn, {}, {x});
  engine.wait_for_all();
  CHECK(log.entries() == std::vector{1, 1});
}

TEST_CASE("a big callable runs") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::array<int, 1000> payload{};
  payload.back() = 9;
  Log<int> log;
  engine.push([&log, payload] { log.add(payload.back()); }, {}, {});
  engine.wait_for_all();
  CHECK(log.entries() == std::vector{9});
}

TEST_CASE("a null callable is an argument error and pushes nothing") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  void (*const null_function)() = nullptr;
  void (*const null_with_context)(RunContext&) = nullptr;
  CHECK_THROWS_AS(engine.push(null_function, {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(null_with_context, {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(std::function<void()>(), {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(std::function<void(RunContext&)>(), {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(UniqueFunction<void()>(), {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(UniqueFunction<void(RunContext&)>(), {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.try_push(std::function<void()>(), {}, {x}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push_async(std::function<void(RunContext&, Completion)>(), {}, {x}),
                  std::invalid_argument);
  CHECK(engine.version(x) == 0);
  CHECK(engine.push([] {}, {}, {}) == 1);
}

TEST_CASE("the error of a null callable names the call that was given it") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  using Async = std::function<void(RunContext&, Completion)>;
  const std::function<void()> null;
  CHECK_THROWS_WITH(engine.push(null, {}, {}), Equals("[Engine::push] null callable"));
  CHECK_THROWS_WITH(engine.try_push(null, {}, {}), Equals("[Engine::try_push] null callable"));
  CHECK_THROWS_WITH(engine.push_async(Async(), {}, {}),
                    Equals("[Engine::push_async] null callable"));
}

TEST_CASE("a null callable is an argument error even where there is no room for it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 1));
  const HeldOperation held(engine, {}, {});
  CHECK_THROWS_AS(engine.try_push(std::function<void()>(), {}, {}), std::invalid_argument);
}

TEST_CASE("an unusable variable is an argument error even where there is no room for the push") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 1));
  const HeldOperation held(engine, {}, {});
  CHECK_THROWS_AS(engine.try_push([] {}, {Var()}, {}), std::invalid_argument);
  CHECK(engine.try_push([] {}, {}, {}) == std::nullopt);
}

TEST_CASE("one unusable variable refuses the whole push") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CHECK_THROWS_AS(engine.push([] {}, {x}, {y, Var()}), std::invalid_argument);
  engine.push([] {}, {y}, {x});
  CHECK_NOTHROW(engine.wait_for_all());
  CHECK(engine.version(x) == 1);
  CHECK(engine.version(y) == 0);
}

TEST_CASE("an operation may have hundreds of variables") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::vector<Var> reads;
  std::vector<Var> mutates;
  for (int i = 0; i < 300; ++i) reads.push_back(engine.new_variable());
  for (int i = 0; i < 300; ++i) mutates.push_back(engine.new_variable());
  int value = 0;
  for (int i = 0; i < 10; ++i) {
    engine.push([&value] { ++value; }, reads, mutates);
    engine.push([&value] { value *= 2; }, mutates, reads);
  }
  engine.wait_for_all();
  CHECK(value == 2046);
  CHECK(engine.version(reads[299]) == 10);
  CHECK(engine.version(mutates[0]) == 10);
}

TEST_CASE("the context says where the operation was pushed to") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Device device = GENERATE(Device::cpu(), Device::cpu(2), Device::cpu_pinned());
  for (const Lane lane : kLanes) {
    std::vector<RunContext> seen;
    const Var x = engine.new_variable();
    engine.push([&seen](RunContext& context) { seen.push_back(context); }, {}, {x},
                {.device = device, .lane = lane});
    engine.wait_for_var(x);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].device == device);
    CHECK(seen[0].lane == lane);
    CHECK_FALSE(seen[0].stop_requested());
  }
}

TEST_CASE("an operation without a device runs on cpu(0), whatever the current device") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Device before = current_device();
  set_current_device(Device::cpu(3));
  Log<Device> devices;
  engine.push([&devices](RunContext& context) { devices.add(context.device); }, {}, {});
  engine.wait_for_all();
  set_current_device(before);
  CHECK(devices.entries() == std::vector{Device::cpu()});
}

TEST_CASE("lanes of the CPU run beside each other") {
  EngineOptions options;
  options.kind = EngineKind::kThreaded;
  options.cpu_workers = 1;
  Engine engine(options);
  Counter inside;
  for (const Lane lane : kLanes) {
    engine.push(
        [&inside] {
          inside.add();
          inside.wait_for(5);
        },
        {}, {}, {.lane = lane});
  }
  engine.wait_for_all();
  CHECK(inside.value() == 5);
}

}  // namespace
}  // namespace heddle
