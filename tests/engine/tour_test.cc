// Small operations of several lanes, which one thread runs in the order in which they were pushed.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"
#include "tests/support/lanes.h"
#include "tests/support/watchdog.h"

namespace heddle {
namespace {

using support::Gate;
using support::kLanes;
using support::lane_of;

constexpr int kRounds = 30;
/// More than are measured before operations count as small.
constexpr int kMany = 2000;

/// Teaches the engine that operations of all lanes are small. They add up in `value`.
void push_small(Engine& engine, const Var& var, int& value, int count = kMany) {
  for (int i = 0; i < count; ++i) engine.push([&] { ++value; }, {}, {var}, {.lane = lane_of(i)});
}

TEST_CASE("small operations on one variable run one after the other in whatever lanes they are") {
  for (const int workers : {1, 2, 4}) {
    Engine engine({.cpu_workers = workers});
    const Var x = engine.new_variable();
    int value = 0;
    for (int round = 0; round < kRounds; ++round) push_small(engine, x, value);
    engine.wait_for_var(x);
    CHECK(value == kRounds * kMany);
    CHECK(engine.version(x) == static_cast<std::uint64_t>(value));
  }
}

TEST_CASE("an operation that blocks among small ones holds up none of another lane") {
  for (const Lane lane : kLanes) {
    Engine engine({.cpu_workers = 1});
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    int value = 0;
    int others = 0;
    for (int round = 0; round < kRounds; ++round) {
      support::watchdog::progress();
      Gate gate;
      push_small(engine, x, value);
      engine.push([&] { gate.wait(); }, {x}, {}, {.lane = lane});
      for (const Lane other : kLanes) {
        if (other != lane) engine.push([&] { ++others; }, {}, {y}, {.lane = other});
      }
      const Lane last = lane == Lane::kComm ? Lane::kCompute : Lane::kComm;
      engine.push([&] { gate.open(); }, {y}, {}, {.lane = last});
      engine.wait_for_all();
    }
    CHECK(value == kRounds * kMany);
    CHECK(others == kRounds * static_cast<int>(kLanes.size() - 1));
  }
}

TEST_CASE("operations of every lane can block at the same time among small ones") {
  Engine engine({.cpu_workers = 2});
  const Var x = engine.new_variable();
  int value = 0;
  for (int round = 0; round < kRounds; ++round) {
    Gate all;
    std::atomic<int> missing{5};
    const auto meet = [&] {
      if (missing.fetch_sub(1) == 1) all.open();
      all.wait();
    };
    push_small(engine, x, value);
    for (int i = 0; i < 5; ++i) engine.push(meet, {}, {}, {.lane = lane_of(i)});
    engine.wait_for_all();
  }
  CHECK(value == kRounds * kMany);
}

TEST_CASE("a lane goes on while a waiting thread blocks in another one and more waits behind it") {
  Engine engine({.cpu_workers = 1});
  const Var x = engine.new_variable();
  int value = 0;
  std::atomic<int> others{0};
  for (int round = 0; round < kRounds; ++round) {
    push_small(engine, x, value);
    engine.wait_for_all();
    Gate gate;
    engine.push([&] { gate.wait(); }, {}, {});
    engine.push([&] { ++others; }, {}, {});
    for (int i = 0; i < 100; ++i) engine.push([&] { ++others; }, {}, {}, {.lane = Lane::kCopyIn});
    engine.push([&] { gate.open(); }, {}, {}, {.lane = Lane::kCopyIn});
    engine.wait_for_all();
  }
  CHECK(others == kRounds * 101);
}

/// What a lane with one worker sees of its operations.
struct LaneLog {
  std::atomic<int> running{0};
  std::vector<int> order;
  std::atomic<int> overlaps{0};
};

TEST_CASE("a lane with one worker runs small operations one at a time and in their order") {
  Engine engine({.cpu_workers = 1});
  std::array<LaneLog, kLanes.size()> logs;
  constexpr int kCount = kRounds * kMany;
  for (LaneLog& log : logs) log.order.reserve(kCount);
  for (int i = 0; i < kCount; ++i) {
    LaneLog& log = logs[static_cast<std::size_t>(i) % kLanes.size()];
    const auto body = [&log, i] {
      if (log.running.fetch_add(1) != 0) ++log.overlaps;
      log.order.push_back(i);
      // So long that other lanes go on meanwhile.
      if (i % 5003 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      --log.running;
    };
    engine.push(body, {}, {}, {.lane = lane_of(i)});
  }
  engine.wait_for_all();
  for (const LaneLog& log : logs) {
    CHECK(log.overlaps == 0);
    CHECK(log.order.size() == kCount / kLanes.size());
    CHECK(std::is_sorted(log.order.begin(), log.order.end()));
  }
}

TEST_CASE("what becomes ready in a lane goes before small operations that were pushed later") {
  Engine engine({.cpu_workers = 1});
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  int value = 0;
  int overtakers = 0;
  for (int round = 0; round < kRounds * 10; ++round) {
    support::watchdog::progress();
    push_small(engine, x, value, kMany / 4);
    engine.wait_for_all();
    std::optional<Completion> held;
    Gate returned;
    engine.push_async([&](RunContext&, Completion done) { held.emplace(std::move(done)); }, {},
                      {y});
    engine.push([&] { returned.open(); }, {}, {});  // by the same worker, after that callable
    returned.wait();
    bool has_run = false;
    std::atomic<bool> is_ready{false};
    int late = 0;
    engine.push([&] { has_run = true; }, {y}, {}, {.lane = Lane::kCopyIn});
    const auto later = [&] { late += is_ready.load() && !has_run ? 1 : 0; };
    for (int i = 0; i < kMany; ++i) {
      engine.push(later, {}, {}, {.lane = Lane::kCopyIn});
      engine.push([] {}, {}, {}, {.lane = Lane::kComm});
      if (i != kMany / 2) continue;
      held->done();
      is_ready = true;
    }
    engine.wait_for_all();
    overtakers = std::max(overtakers, late);
  }
  CHECK(overtakers <= 1);
}

TEST_CASE("a small operation of one lane that throws poisons what follows in the others") {
  Engine engine({.cpu_workers = 2});
  const Var x = engine.new_variable();
  int before = 0;
  int after = 0;
  push_small(engine, x, before);
  const Var y = engine.new_variable();
  engine.push([] { throw std::runtime_error("no more"); }, {}, {y}, {.lane = Lane::kCopyIn});
  for (int i = 0; i < 20; ++i) engine.push([&] { ++after; }, {y}, {x}, {.lane = lane_of(i)});
  CHECK_THROWS_WITH(engine.wait_for_var(x), Catch::Contains("no more"));
  CHECK(before == kMany);
  CHECK(after == 0);
}

TEST_CASE("what small operations of all lanes push is run") {
  Engine engine({.cpu_workers = 2});
  const Var x = engine.new_variable();
  int value = 0;
  std::atomic<int> inner{0};
  for (int round = 0; round < kRounds; ++round) {
    push_small(engine, x, value);
    for (int i = 0; i < 16; ++i) {
      const auto outer = [&engine, &inner, i] {
        engine.push([&inner] { ++inner; }, {}, {}, {.lane = lane_of(i + 1)});
      };
      engine.push(outer, {}, {}, {.lane = lane_of(i)});
    }
  }
  engine.wait_for_all();
  CHECK(value == kRounds * kMany);
  CHECK(inner == kRounds * 16);
}

TEST_CASE("a wait among small operations of several lanes ends with what it waits for") {
  Engine engine({.cpu_workers = 1});
  const Var x = engine.new_variable();
  int value = 0;
  for (int round = 0; round < kRounds * 20; ++round) {
    support::watchdog::progress();
    push_small(engine, x, value, 100 + round);
    const int pushed = round + 1;
    engine.wait_for_var(x);
    REQUIRE(value == pushed * 100 + round * pushed / 2);
  }
}

}  // namespace
}  // namespace heddle
