#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"
#include "tests/support/lanes.h"
#include "tests/support/root_of.h"

// The contract on devices whose lanes are streams. This program has two simulated GPUs.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::Counter;
using support::ForeignThread;
using support::Gate;
using support::HeldOperation;
using support::kLanes;
using support::Log;
using support::root_of;

TEST_CASE("an operation on a GPU knows its device and lane") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  for (int id = 0; id < num_gpus(); ++id) {
    for (const Lane lane : kLanes) {
      const Var x = engine.new_variable();
      std::vector<RunContext> seen;
      const std::uint64_t sequence =
          engine.push([&seen](RunContext& context) { seen.push_back(context); }, {}, {x},
                      {.device = Device::gpu(id), .lane = lane});
      engine.wait_for_var(x);
      REQUIRE(seen.size() == 1);
      CHECK(seen[0].device == Device::gpu(id));
      CHECK(seen[0].lane == lane);
      CHECK(seen[0].sequence == sequence);
    }
  }
}

TEST_CASE("a chain over all devices and lanes runs in order") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<int> order;
  int pushed = 0;
  for (int round = 0; round < 20; ++round) {
    for (const Device device : {Device::gpu(0), Device::cpu(), Device::gpu(1)}) {
      for (const Lane lane : kLanes) {
        engine.push([&order, i = pushed] { order.push_back(i); }, {}, {x},
                    {.device = device, .lane = lane});
        ++pushed;
      }
    }
  }
  engine.wait_for_var(x);
  CHECK(order.size() == 300);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("the lanes of a GPU run beside each other") {
  EngineOptions options;
  options.cpu_workers = 4;
  Engine engine(options);
  Counter inside;
  for (const Device device : {Device::gpu(0), Device::gpu(1)}) {
    for (const Lane lane : {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut}) {
      engine.push(
          [&inside] {
            inside.add();
            inside.wait_for(6);
          },
          {}, {}, {.device = device, .lane = lane});
    }
  }
  engine.wait_for_all();
  CHECK(inside.value() == 6);
}

TEST_CASE("priorities are honoured in every lane of a GPU") {
  HEDDLE_FOR_EACH(configuration, one_worker_engines);
  EngineOptions options = configuration;
  options.copy_window = 1;
  options.compute_window = 1;
  Engine engine(options);
  for (const Lane lane : kLanes) {
    Log<std::size_t> log;
    HeldOperation held(engine, {}, {}, {.device = Device::gpu(1), .lane = lane});
    held.wait_until_started();
    const std::array<int, 8> priorities = {0, 5, -1, 5, 0, 100, -1, 5};
    for (std::size_t i = 0; i < priorities.size(); ++i) {
      engine.push([&log, i] { log.add(i); }, {}, {},
                  {.device = Device::gpu(1), .lane = lane, .priority = priorities[i]});
    }
    held.release();
    engine.wait_for_all();
    CAPTURE(lane_name(lane));
    CHECK(log.entries() == std::vector<std::size_t>{5, 1, 3, 7, 0, 4, 2, 6});
  }
}

TEST_CASE("what an operation of higher priority waits for is issued before what lies between") {
  HEDDLE_FOR_EACH(configuration, one_worker_engines);
  EngineOptions options = configuration;
  options.copy_window = 1;
  Engine engine(options);
  const Var x = engine.new_variable();
  for (const Lane lane : {Lane::kCopyIn, Lane::kCopyOut, Lane::kComm}) {
    Log<int> log;
    HeldOperation held(engine, {}, {}, {.device = Device::gpu(0), .lane = lane});
    held.wait_until_started();
    const auto push = [&](VarList reads, VarList mutates, int priority) {
      engine.push([&log, priority] { log.add(priority); }, reads, mutates,
                  {.device = Device::gpu(0), .lane = lane, .priority = priority});
    };
    push({}, {}, 1);
    push({}, {x}, 0);
    push({}, {}, 5);
    push({x}, {}, 10);
    held.release();
    engine.wait_for_all();
    CAPTURE(lane_name(lane));
    CHECK(log.entries() == std::vector{0, 10, 5, 1});
  }
}

TEST_CASE("a copy stream holds two issued operations, the rest wait in priority order") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  for (const Lane lane : {Lane::kCopyIn, Lane::kCopyOut, Lane::kComm}) {
    Log<int> log;
    HeldOperation held(engine, {}, {}, {.device = Device::gpu(0), .lane = lane});
    held.wait_until_started();
    for (const int priority : {1, 2, 3, 4, 5}) {
      engine.push([&log, priority] { log.add(priority); }, {}, {},
                  {.device = Device::gpu(0), .lane = lane, .priority = priority});
    }
    held.release();
    engine.wait_for_all();
    CAPTURE(lane_name(lane));
    CHECK(log.entries() == std::vector{1, 5, 4, 3, 2});  // 1 was issued behind the held one
  }
}

TEST_CASE("a compute stream holds 64 issued operations, the rest wait in priority order") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  Log<int> log;
  HeldOperation held(engine, {}, {}, {.device = Device::gpu(0)});
  held.wait_until_started();
  for (int i = 1; i <= 66; ++i) {
    engine.push([&log, i] { log.add(i); }, {}, {}, {.device = Device::gpu(0), .priority = i});
  }
  held.release();
  engine.wait_for_all();
  std::vector<int> expected;
  for (int i = 1; i <= 63; ++i) expected.push_back(i);  // issued behind the held one
  for (const int waited : {66, 65, 64}) expected.push_back(waited);
  CHECK(log.entries() == expected);
}

TEST_CASE("a wait inside an operation on a GPU is reentrant") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push([&engine, &y] { engine.wait_for_var(y); }, {}, {x}, {.device = Device::gpu(0)});
  try {
    engine.wait_for_var(x);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.device() == Device::gpu(0));
    CHECK_THROWS_AS(std::rethrow_exception(error.cause()), ReentrantWait);
  }
}

TEST_CASE("an operation that was overtaken 1,024 times goes next on a GPU too") {
  HEDDLE_FOR_EACH(configuration, one_worker_engines);
  EngineOptions options = configuration;
  options.copy_window = 1;
  options.compute_window = 1;
  Engine engine(options);
  for (const Lane lane : {Lane::kCopyIn, Lane::kCompute}) {
    Log<int> log;
    HeldOperation held(engine, {}, {}, {.device = Device::gpu(0), .lane = lane});
    held.wait_until_started();
    for (int i = 0; i < 2000; ++i) {
      engine.push([&log, i] { log.add(i); }, {}, {},
                  {.device = Device::gpu(0), .lane = lane, .priority = i == 0 ? 0 : 1});
    }
    held.release();
    engine.wait_for_all();
    const std::vector<int> order = log.entries();
    CHECK(std::find(order.begin(), order.end(), 0) - order.begin() == 1024);
  }
}

TEST_CASE("a failure found after consumers were issued poisons them with the same root") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  std::vector<Var> chain;
  for (int i = 0; i < 10; ++i) chain.push_back(engine.new_variable());
  const std::uint64_t root = engine.push([] { throw std::runtime_error("boom"); }, {}, {chain[0]},
                                         {.device = Device::gpu(0), .lane = Lane::kCopyIn});
  for (std::size_t i = 1; i < chain.size(); ++i) {
    engine.push([] {}, {chain[i - 1]}, {chain[i]},
                {.device = Device::gpu(i < 5 ? 0 : 1), .lane = Lane::kCompute});
  }
  for (const Var& var : chain) CHECK(root_of(engine, var) == root);
  CHECK(engine.version(chain.back()) == 1);
  CHECK_NOTHROW(engine.wait_for_all());
}

TEST_CASE("poison from a GPU skips operations on the CPU") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Counter ran;
  const std::uint64_t root = engine.push([] { throw 1; }, {}, {x}, {.device = Device::gpu(0)});
  engine.push([&ran] { ran.add(); }, {x}, {y});
  CHECK(root_of(engine, y) == root);
  CHECK(ran.value() == 0);
}

TEST_CASE("overwriting on a GPU heals") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  for (int i = 0; i < 50; ++i) {
    engine.push([] { throw 1; }, {}, {x}, {.device = Device::gpu(0)});
    engine.push([&value] { ++value; }, {}, {x}, {.device = Device::gpu(1), .overwrites = true});
  }
  CHECK(root_of(engine, x) == 0);
  CHECK(value == 50);
  CHECK(engine.version(x) == 100);
}

TEST_CASE("an asynchronous operation on a GPU ends with its completion") {
  HEDDLE_FOR_EACH(options, every_engine);
  ForeignThread foreign;
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  int seen = 0;
  for (int i = 0; i < 50; ++i) {
    engine.push_async(
        [&](RunContext&, Completion completion) {
          foreign.post([&value, completion = std::move(completion)]() mutable {
            ++value;
            completion.done();
          });
        },
        {}, {x}, {.device = Device::gpu(i % 2), .lane = Lane::kCopyIn});
    engine.push([&] { seen += value; }, {x}, {x}, {.device = Device::gpu((i + 1) % 2)});
  }
  CHECK(root_of(engine, x) == 0);
  CHECK(value == 50);
  CHECK(seen == 1275);
}

TEST_CASE("waiting works while a GPU's stream is busy with something else") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {}, {.device = Device::gpu(0), .lane = Lane::kCopyIn});
  int value = 0;
  engine.push([&value] { value = 1; }, {}, {x}, {.device = Device::gpu(0), .lane = Lane::kCopyOut});
  engine.wait_for_var(x);
  CHECK(value == 1);
}

TEST_CASE("last runs after the operations of all devices") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  int wrong = 0;
  for (int round = 0; round < 50; ++round) {
    const Var x = engine.new_variable();
    int writes = 0;
    int at_last = 0;
    for (const Device device : {Device::gpu(0), Device::gpu(1), Device::cpu()}) {
      engine.push([&writes] { ++writes; }, {}, {x}, {.device = device});
    }
    engine.delete_variable(x, [&] { at_last = writes; });
    engine.wait_for_all();
    if (at_last != 3) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("cancelling skips what waits for a busy stream") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  support::Gate started;
  const PushOptions where{.device = Device::gpu(0), .lane = Lane::kCopyIn};
  engine.push(
      [&started](RunContext& context) {
        started.open();
        while (!context.stop_requested()) std::this_thread::yield();
      },
      {}, {}, where);
  started.wait();
  for (int i = 0; i < 10; ++i) engine.push([] {}, {}, {x}, where);
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel, std::chrono::seconds(60));
  CHECK(report.completed + report.cancelled == 11);
  CHECK(report.cancelled >= 8);  // two may have been issued
  CHECK(report.abandoned == 0);
}

TEST_CASE("a wait for everything is not held up by a GPU's operation that was pushed later") {
  // Nobody can see that a thread waits. If it began only after `later` was pushed it is held up
  // rightly; then it gets more time.
  bool returned = false;
  std::chrono::milliseconds head_start{1};
  while (!returned && head_start < std::chrono::seconds(1)) {
    head_start *= 10;
    Engine engine({.cpu_workers = 1});
    HeldOperation covered(engine, {}, {});
    covered.wait_until_started();
    const auto waiter = std::async(std::launch::async, [&engine] { engine.wait_for_all(); });
    std::this_thread::sleep_for(head_start);
    HeldOperation later(engine, {}, {}, {.device = Device::gpu(0)});
    covered.release();
    returned = waiter.wait_for(10 * head_start) == std::future_status::ready;
    later.release();
    waiter.wait();
  }
  CHECK(returned);
}

TEST_CASE("operations in streams are skipped when their group is cancelled before they start") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const Lane lane = GENERATE(Lane::kCompute, Lane::kCopyIn, Lane::kBlocking);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  CancelSource source;
  Counter ran;
  HeldOperation held(engine, {}, {x}, {.device = Device::gpu(0), .lane = lane});
  const auto run = [&ran] { ran.add(); };
  const std::uint64_t root =
      engine.push(run, {}, {x}, {.device = Device::gpu(0), .lane = lane, .cancel = source.token()});
  engine.push(run, {x}, {y}, {.device = Device::gpu(1)});
  for (int i = 0; i < 200; ++i) {  // more than any window
    engine.push(run, {}, {x}, {.device = Device::gpu(0), .lane = lane, .cancel = source.token()});
  }
  held.wait_until_started();
  source.cancel();
  held.release();
  CHECK_THROWS_WITH(engine.wait_for_var(y),
                    Contains("#" + std::to_string(root) + " was cancelled"));
  CHECK_THROWS_AS(engine.wait_for_var(x), Cancelled);
  CHECK(ran.value() == 0);
  CHECK(engine.shutdown().cancelled == 202);
}

TEST_CASE("an operation that runs on a stream sees that its group is cancelled") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  CancelSource source;
  Gate started;
  engine.push(
      [&started](const RunContext& context) {
        started.open();
        while (!context.stop_requested()) std::this_thread::yield();
      },
      {}, {x}, {.device = Device::gpu(0), .cancel = source.token()});
  started.wait();
  source.cancel();
  engine.wait_for_var(x);
  CHECK(engine.shutdown().completed == 1);
}

}  // namespace
}  // namespace heddle
