#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
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
#include "tests/support/scale.h"

// At most max_pending operations are pushed and not ended; then push blocks.

namespace heddle {
namespace {

using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::limited;

/// Counts itself as ended when destroyed, which is before its operation counts as done.
class CountsItsEnd {
 public:
  explicit CountsItsEnd(std::atomic<std::size_t>& ended) : ended_(&ended) {}
  CountsItsEnd(CountsItsEnd&& other) noexcept : ended_(std::exchange(other.ended_, nullptr)) {}
  ~CountsItsEnd() {
    if (ended_ != nullptr) ++*ended_;
  }
  void operator()() const {}

 private:
  std::atomic<std::size_t>* ended_;
};

TEST_CASE("push never lets more than max_pending operations pend") {
  HEDDLE_FOR_EACH(options, every_engine);
  const std::size_t limit = GENERATE(as<std::size_t>{}, 1, 2, 16);
  Engine engine(limited(options, limit));
  const Var x = engine.new_variable();
  std::atomic<std::size_t> ended{0};
  std::size_t most = 0;
  const std::size_t count = 2000 / support::kScale;
  for (std::size_t pushed = 1; pushed <= count; ++pushed) {
    engine.push(CountsItsEnd(ended), {}, {x});
    most = std::max(most, pushed - ended);
  }
  engine.wait_for_all();
  CHECK(most <= limit);
  CHECK(ended == count);
}

TEST_CASE("push blocks while the queue is full") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const std::size_t limit = GENERATE(as<std::size_t>{}, 1, 2, 16);
  Engine engine(limited(options, limit));
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {x});
  for (std::size_t i = 1; i < limit; ++i) engine.push([] {}, {}, {x});
  CHECK_FALSE(engine.try_push([] {}, {}, {x}).has_value());
  std::atomic<bool> released{false};
  std::atomic<bool> early{false};
  Gate started;
  std::jthread pusher([&] {
    started.open();
    engine.push([] {}, {}, {x});
    early = !released;
  });
  started.wait();
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  released = true;
  held.release();
  pusher.join();
  engine.wait_for_all();
  CHECK_FALSE(early);
  CHECK(engine.version(x) == limit + 1);
}

TEST_CASE("try_push refuses when the queue is full and has not moved from its callable") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 2));
  const Var x = engine.new_variable();
  HeldOperation held(engine, {}, {x});
  CHECK(engine.try_push([] {}, {}, {x}) == std::optional<std::uint64_t>(2));
  std::atomic<int> result{0};
  auto fn = [&result, value = std::make_unique<int>(5)] { result = *value; };
  CHECK_FALSE(engine.try_push(std::move(fn), {}, {x}).has_value());
  held.release();
  engine.wait_for_all();
  // NOLINTNEXTLINE(bugprone-use-after-move): a refused callable is intact
  CHECK(engine.try_push(std::move(fn), {}, {x}) == std::optional<std::uint64_t>(3));
  engine.wait_for_all();
  CHECK(result == 5);
}

TEST_CASE("a thread that tries again and again to push gets its place in the end") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(limited(options, 2));
  const Var x = engine.new_variable();
  int ran = 0;
  for (int i = 0; i < 100; ++i) {
    while (!engine.try_push([&ran] { ++ran; }, {}, {x}).has_value()) std::this_thread::yield();
  }
  engine.wait_for_all();
  CHECK(ran == 100);
}

TEST_CASE("try_push takes an lvalue callable by copy") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const auto count = std::make_shared<std::atomic<int>>(0);
  const auto fn = [count] { ++*count; };
  CHECK(engine.try_push(fn, {}, {}).has_value());
  CHECK(engine.try_push(fn, {}, {}).has_value());
  engine.wait_for_all();
  CHECK(*count == 2);
}

TEST_CASE("try_push gives its place back when it throws") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(limited(options, 1));
  const auto nothing = [] {};
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(engine.try_push(nothing, {Var()}, {}), std::invalid_argument);
    CHECK_THROWS_AS(engine.push(nothing, {}, {Var()}), std::invalid_argument);
  }
  CHECK(engine.try_push(nothing, {}, {}).has_value());
  engine.wait_for_all();
}

TEST_CASE("a push inside an operation never blocks and is never refused") {
  HEDDLE_FOR_EACH(options, every_engine);
  const std::size_t limit = GENERATE(as<std::size_t>{}, 1, 2, 16);
  Engine engine(limited(options, limit));
  const Var x = engine.new_variable();
  Counter ran;
  std::atomic<int> refused{0};
  engine.push(
      [&] {
        for (int i = 0; i < 100; ++i) {
          engine.push([&ran] { ran.add(); }, {}, {x});
          const auto child = [&ran] { ran.add(); };
          if (!engine.try_push(child, {}, {x}).has_value()) ++refused;
        }
      },
      {}, {x});
  engine.wait_for_all();
  CHECK(refused == 0);
  CHECK(ran.value() == 200);
}

TEST_CASE("a full queue does not stop deletions") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 1));
  const Var x = engine.new_variable();
  std::vector<Var> vars;
  for (int i = 0; i < 10; ++i) vars.push_back(engine.new_variable());
  HeldOperation held(engine, {}, {x});
  Counter lasts;
  for (const Var& var : vars) engine.delete_variable(var, [&lasts] { lasts.add(); });
  engine.delete_variable(x, [&lasts] { lasts.add(); });
  held.release();
  engine.wait_for_all();
  CHECK(lasts.value() == 11);
}

TEST_CASE("many threads pushing into a small queue all come through") {
  HEDDLE_FOR_EACH(options, every_engine);
  const std::size_t limit = GENERATE(as<std::size_t>{}, 1, 2, 16);
  Engine engine(limited(options, limit));
  const Var x = engine.new_variable();
  std::size_t ran = 0;
  constexpr std::size_t kEach = 500 / support::kScale;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = 0; i < kEach; ++i) engine.push([&ran] { ++ran; }, {}, {x});
      });
    }
  }
  engine.wait_for_all();
  CHECK(ran == 8 * kEach);
}

TEST_CASE("pushers that are held back get their places by turns") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  constexpr std::size_t kPushers = 4;
  constexpr std::size_t kAll = 2000 / support::kScale;
  Engine engine(limited(options, options.cpu_workers == 1 ? 3 : 1));
  std::atomic<std::size_t> here{0};  // inside of push, or gone
  std::atomic<std::size_t> pushed{0};
  std::array<std::atomic<std::size_t>, kPushers> shares{};
  {
    std::vector<std::jthread> threads;
    for (std::atomic<std::size_t>& share : shares) {
      threads.emplace_back([&] {
        ++here;
        while (pushed < kAll) {
          // One operation runs at a time, and ends when its pusher is back and all are in a push,
          // and a moment later, when they stand in line: so nobody misses a turn for want of a CPU.
          engine.push(
              [&, before = share.load()] {
                while (share == before || here < kPushers) std::this_thread::yield();
                std::this_thread::sleep_for(std::chrono::microseconds(100 * support::kScale));
              },
              {}, {});
          --here;
          ++pushed;
          ++share;
          ++here;
        }
      });
    }
  }
  engine.wait_for_all();
  for (const std::atomic<std::size_t>& share : shares) CHECK(share >= pushed / kPushers / 2);
}

TEST_CASE("a failed or skipped operation gives its place back") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(limited(options, 1));
  const Var x = engine.new_variable();
  for (int i = 0; i < 20; ++i) engine.push([] { throw 1; }, {}, {x});
  for (int i = 0; i < 20; ++i) engine.push_async([](RunContext&, Completion) {}, {}, {});
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  CHECK(engine.version(x) == 20);
}

}  // namespace
}  // namespace heddle
