#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/scale.h"

// One total order over all pushes; what conflicts runs in that order, the rest may overlap.

namespace heddle {
namespace {

using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::Log;

TEST_CASE("conflicting writes run in push order") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<int> order;  // needs no lock: its writers conflict
  for (int i = 0; i < 1000; ++i) engine.push([&order, i] { order.push_back(i); }, {}, {x});
  engine.wait_for_all();
  CHECK(order.size() == 1000);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("a read sees every earlier write and no later one") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int value = 0;
  std::vector<int> seen(300);
  for (std::size_t i = 0; i < seen.size(); i += 3) {
    engine.push([&value] { ++value; }, {}, {x});
    for (std::size_t j = i; j < i + 3; ++j) {
      engine.push([&seen, &value, j] { seen[j] = value; }, {x}, {});
    }
  }
  engine.wait_for_all();
  std::vector<int> expected;
  for (int write = 1; write <= 100; ++write) expected.insert(expected.end(), 3, write);
  CHECK(seen == expected);
}

TEST_CASE("operations on several variables wait for all of them") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const Var z = engine.new_variable();
  int a = 0;
  int b = 0;
  int sum = 0;
  engine.push([&a] { a = 3; }, {}, {x});
  engine.push([&b] { b = 4; }, {}, {y});
  engine.push([&] { sum = a + b; }, {x, y}, {z});
  engine.push([&a] { a = 100; }, {}, {x});
  engine.wait_for_all();
  CHECK(sum == 7);
}

TEST_CASE("reads of one variable overlap") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  if (options.cpu_workers < 2) return;
  Engine engine(options);
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x});
  Counter inside;
  for (int i = 0; i < 2; ++i) {
    engine.push(
        [&inside] {
          inside.add();
          inside.wait_for(2);
        },
        {x}, {});
  }
  engine.wait_for_all();
  CHECK(inside.value() == 2);
}

TEST_CASE("operations that do not conflict overlap") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  if (options.cpu_workers < 2) return;
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Counter inside;
  for (const Var& var : {x, y}) {
    engine.push(
        [&inside] {
          inside.add();
          inside.wait_for(2);
        },
        {}, {var});
  }
  engine.wait_for_all();
  CHECK(inside.value() == 2);
}

TEST_CASE("a read behind a write that waits for a read waits too") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<std::string> log;
  HeldOperation first_read(engine, {x}, {}, {.lane = Lane::kBlocking});
  first_read.wait_until_started();
  engine.push([&log] { log.add("write"); }, {}, {x});
  engine.push([&log] { log.add("read"); }, {x}, {});
  engine.push([&log] { log.add("unrelated"); }, {}, {engine.new_variable()});
  const Var marker = engine.new_variable();
  engine.push([] {}, {}, {marker}, {.priority = -1});
  engine.wait_for_var(marker);
  log.add("released");
  first_read.release();
  engine.wait_for_all();
  const std::vector<std::string> entries = log.entries();
  const auto position = [&entries](const char* name) {
    return std::find(entries.begin(), entries.end(), name) - entries.begin();
  };
  CHECK(entries.size() == 4);
  CHECK(position("released") < position("write"));
  CHECK(position("write") < position("read"));
}

TEST_CASE("sequence numbers count successful pushes from 1, per engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Engine other(options);
  const Var x = engine.new_variable();
  const auto nothing = [] {};
  CHECK(engine.push(nothing, {}, {}) == 1);
  CHECK(engine.push(nothing, {x}, {}) == 2);
  CHECK(other.push(nothing, {}, {}) == 1);
  CHECK(engine.push_async([](RunContext&, Completion done) { done.done(); }, {}, {x}) == 3);
  CHECK(engine.try_push(nothing, {}, {x}) == std::optional<std::uint64_t>(4));
  engine.clear_error(x);  // 5
  CHECK(engine.push(nothing, {}, {}) == 6);
  CHECK_THROWS_AS(engine.push(nothing, {Var()}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.push(std::function<void()>(), {}, {}), std::invalid_argument);
  CHECK(engine.push(nothing, {}, {}) == 7);
  engine.delete_variable(x);  // 8
  CHECK_THROWS_AS(engine.push(nothing, {x}, {}), std::invalid_argument);
  CHECK_THROWS_AS(engine.delete_variable(x), std::invalid_argument);
  CHECK_THROWS_AS(engine.clear_error(x), std::invalid_argument);
  CHECK(engine.push(nothing, {}, {}) == 9);
  { const Var released = engine.new_variable(); }
  CHECK(engine.push(nothing, {}, {}) == 10);
}

TEST_CASE("an operation's context has the sequence number that push returned") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Log<std::uint64_t> seen;
  const Var x = engine.new_variable();
  std::vector<std::uint64_t> returned;
  for (int i = 0; i < 10; ++i) {
    returned.push_back(
        engine.push([&seen](RunContext& context) { seen.add(context.sequence); }, {}, {x}));
  }
  engine.wait_for_all();
  CHECK(seen.entries() == returned);
}

TEST_CASE("a push that happens before another on a second thread has the lower number") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<std::uint64_t> numbers;  // handed from thread to thread
  for (int i = 0; i < 100; ++i) {
    std::jthread([&] { numbers.push_back(engine.push([] {}, {}, {x})); }).join();
    numbers.push_back(engine.push([] {}, {}, {x}));
  }
  engine.wait_for_all();
  CHECK(std::is_sorted(numbers.begin(), numbers.end()));
  CHECK(numbers.back() == numbers.size());
}

TEST_CASE("threads that push on the same two variables do not hang, in one total order") {
  HEDDLE_FOR_EACH(options, every_engine);
  constexpr int kThreads = 2;
  constexpr std::size_t kEach = 50000 / support::kScale;
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::uint64_t last = 0;  // both are ordered by the variables
  std::uint64_t disorder = 0;
  std::vector<std::vector<std::uint64_t>> numbers(kThreads);
  {
    Gate start;
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        start.wait();
        for (std::size_t i = 0; i < kEach; ++i) {
          const auto check = [&last, &disorder](RunContext& context) {
            if (context.sequence <= std::exchange(last, context.sequence)) ++disorder;
          };
          const std::uint64_t number =
              t % 2 == 0 ? engine.push(check, {}, {x, y}) : engine.push(check, {}, {y, x});
          numbers[t].push_back(number);
        }
      });
    }
    start.open();
  }
  engine.wait_for_all();
  CHECK(disorder == 0);
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& each : numbers) {
    CHECK(std::is_sorted(each.begin(), each.end()));
    all.insert(all.end(), each.begin(), each.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
  CHECK(all.front() == 1);
  CHECK(all.back() == kThreads * kEach);
  CHECK(engine.version(x) == kThreads * kEach);
}

TEST_CASE("operations without variables run, each once") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter ran;
  for (int i = 0; i < 100; ++i) engine.push([&ran] { ran.add(); }, {}, {});
  engine.wait_for_all();
  CHECK(ran.value() == 100);
}

}  // namespace
}  // namespace heddle
