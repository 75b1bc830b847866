// Operations so short that workers run them in the order in which they were pushed, before anybody
// has found out which of them wait for which.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"

namespace heddle {
namespace {

using support::Gate;

constexpr int kRounds = 50;
/// More than are measured before operations count as short.
constexpr int kMany = 2000;

EngineOptions workers(int count) { return {.cpu_workers = count}; }

/// Teaches the engine that operations are short.
void push_short(Engine& engine, const Var& var, int& value, int count = kMany) {
  for (int i = 0; i < count; ++i) engine.push([&value] { ++value; }, {}, {var});
}

TEST_CASE("short operations on one variable run one after the other on any number of workers") {
  for (const int count : {1, 2, 4}) {
    Engine engine(workers(count));
    const Var x = engine.new_variable();
    int value = 0;
    for (int round = 0; round < kRounds; ++round) push_short(engine, x, value);
    engine.wait_for_var(x);
    CHECK(value == kRounds * kMany);
    CHECK(engine.version(x) == static_cast<std::uint64_t>(value));
  }
}

/// How long operations of some 100 ns that wait for each other take to end when all are pushed.
std::chrono::nanoseconds time_chain(Engine& engine, const Var& var, bool is_waited_for) {
  const auto compute = [] {
    for (std::uint64_t i = 0, x = 1; i < 150; ++i) {
      x = x * 6364136223846793005U + 1;
      asm volatile("" : "+r"(x));
    }
  };
  std::atomic<bool> is_over{false};
  for (int i = 0; i < 2 * kMany; ++i) engine.push(compute, {}, {var});
  engine.push([&is_over] { is_over = true; }, {}, {var});
  const auto begin = std::chrono::steady_clock::now();
  if (is_waited_for) engine.wait_for_var(var);
  while (!is_over) std::this_thread::sleep_for(std::chrono::microseconds(10));
  const auto took = std::chrono::steady_clock::now() - begin;
  engine.wait_for_all();
  return took;
}

TEST_CASE("a chain of short operations does not stand still though nobody waits for it") {
  constexpr std::size_t kTimes = 21;
  Engine engine(workers(2));
  const Var x = engine.new_variable();
  std::vector<std::chrono::nanoseconds> waited;
  std::vector<std::chrono::nanoseconds> left_alone;
  for (std::size_t i = 0; i < kTimes; ++i) {
    waited.push_back(time_chain(engine, x, /*is_waited_for=*/true));
    left_alone.push_back(time_chain(engine, x, /*is_waited_for=*/false));
  }
  std::sort(waited.begin(), waited.end());
  std::sort(left_alone.begin(), left_alone.end());
  // One in four may be late, as the machine does other things, too, which hold up either way.
  constexpr std::size_t kMostInTime = kTimes * 3 / 4;
  CHECK(left_alone[kMostInTime] < 4 * waited[kMostInTime] + std::chrono::milliseconds(1));
}

TEST_CASE("an operation among short ones can wait for one that was pushed after it") {
  Engine engine(workers(2));
  const Var x = engine.new_variable();
  int value = 0;
  for (int round = 0; round < kRounds; ++round) {
    Gate gate;
    push_short(engine, x, value);
    engine.push([&gate] { gate.wait(); }, {}, {});
    push_short(engine, x, value, 20);
    engine.push([&gate] { gate.open(); }, {}, {});
    push_short(engine, x, value, 20);
    engine.wait_for_all();
  }
  CHECK(value == kRounds * (kMany + 40));
}

TEST_CASE("short operations wait for a long one that they conflict with") {
  Engine engine(workers(2));
  const Var x = engine.new_variable();
  int value = 0;
  push_short(engine, x, value);
  engine.wait_for_all();
  for (int round = 0; round < kRounds; ++round) {
    const int before = value;
    int seen = 0;
    Gate gate;
    engine.push(
        [&] {
          gate.wait();
          seen = value;
        },
        {x}, {});
    push_short(engine, x, value, 40);
    if (round % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    gate.open();
    engine.wait_for_all();
    CHECK(seen == before);
  }
}

TEST_CASE("what a short operation throws skips what reads its result, and nothing else") {
  for (const int count : {1, 2}) {
    Engine engine(workers(count));
    const Var x = engine.new_variable();
    const Var y = engine.new_variable();
    int value = 0;
    for (int round = 0; round < kRounds; ++round) {
      const int before = value;
      bool read = false;
      push_short(engine, x, value);
      engine.push([] { throw std::runtime_error("too short"); }, {}, {y});
      engine.push([&read] { read = true; }, {y}, {});
      push_short(engine, x, value);
      CHECK_THROWS_AS(engine.wait_for_var(y), OpError);
      engine.clear_error(y);
      engine.wait_for_all();
      CHECK(!read);
      CHECK(value == before + 2 * kMany);
    }
  }
}

TEST_CASE("a short operation sees the versions that those before it have made") {
  Engine engine(workers(1));
  const Var x = engine.new_variable();
  int value = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t seen = 0;
    push_short(engine, x, value);
    engine.push([&] { seen = engine.version(x); }, {x}, {});
    push_short(engine, x, value, 20);
    engine.wait_for_all();
    CHECK(seen == static_cast<std::uint64_t>(value) - 20);
  }
}

TEST_CASE("what short operations push runs after what was pushed before it") {
  Engine engine(workers(2));
  const Var x = engine.new_variable();
  int value = 0;
  for (int round = 0; round < kRounds; ++round) {
    int seen = 0;
    push_short(engine, x, value);
    engine.push([&] { engine.push([&] { seen = value; }, {x}, {}); }, {}, {});
    push_short(engine, x, value, 40);
    engine.wait_for_all();
    CHECK(seen >= value - 40);
  }
}

TEST_CASE("pushers that wait for room get what short operations have given back") {
  Engine engine({.cpu_workers = 1, .max_pending = 16});
  const Var x = engine.new_variable();
  int value = 0;
  for (int round = 0; round < kRounds; ++round) {
    Gate gate;
    push_short(engine, x, value, 200);
    engine.push([&gate] { gate.wait(); }, {}, {});
    push_short(engine, x, value, 15);  // beside the held one there is room for so many
    gate.open();
    engine.wait_for_all();
  }
  CHECK(value == kRounds * 215);
}

TEST_CASE("a shutdown counts the short operations that have ended beside one that has not") {
  struct Shared {  // lives as long as the operations, which the engine does not wait for
    Gate started;
    Gate gate;
    int value = 0;
  };
  for (int round = 0; round < 10; ++round) {
    const auto shared = std::make_shared<Shared>();
    Engine engine(workers(1));
    const Var x = engine.new_variable();
    const auto push_some = [&](int count) {
      for (int i = 0; i < count; ++i) engine.push([shared] { ++shared->value; }, {}, {x});
    };
    push_some(kMany);
    engine.wait_for_all();
    push_some(30);
    engine.push(
        [shared] {
          shared->started.open();
          shared->gate.wait();
        },
        {}, {});
    push_some(30);
    shared->started.wait();
    const ShutdownReport report =
        engine.shutdown(ShutdownMode::kCancel, std::chrono::milliseconds(5));
    CHECK(report.completed == static_cast<std::uint64_t>(kMany) + 30);
    CHECK(report.abandoned + report.cancelled == 31);
    shared->gate.open();
  }
}

TEST_CASE("threads that push short operations and wait for them lose none") {
  Engine engine(workers(2));
  std::array<std::thread, 3> threads;
  std::array<int, 3> values{};
  const Var shared = engine.new_variable();
  int sum = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      const Var own = engine.new_variable();
      for (int round = 0; round < kRounds; ++round) {
        push_short(engine, own, values[i], 100);
        engine.push([&] { ++sum; }, {own}, {shared});
        if (round % 3 == 0) engine.wait_for_var(own);
        if (round % 5 == 0) engine.wait_for_all();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine.wait_for_all();
  CHECK(sum == 3 * kRounds);
  CHECK(values == std::array<int, 3>{100 * kRounds, 100 * kRounds, 100 * kRounds});
}

}  // namespace
}  // namespace heddle
