#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/lanes.h"

// Among the ready operations of a lane the higher priority goes first, equal ones in push order.

namespace heddle {
namespace {

using support::HeldOperation;
using support::kLanes;
using support::Log;

/// The order in which operations with these priorities run that become ready while the only
/// worker of `lane` is busy, as indices.
std::vector<std::size_t> order_of(Engine& engine, Lane lane, const std::vector<int>& priorities) {
  Log<std::size_t> log;
  HeldOperation held(engine, {}, {}, {.lane = lane});
  held.wait_until_started();
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    engine.push([&log, i] { log.add(i); }, {}, {}, {.lane = lane, .priority = priorities[i]});
  }
  held.release();
  engine.wait_for_all();
  return log.entries();
}

TEST_CASE("higher priorities go first, equal ones in push order, in every lane") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  for (const Lane lane : kLanes) {
    const std::vector<int> priorities = {0, 5, -1, 5, 0, 100, -1, 5};
    CAPTURE(lane_name(lane));
    CHECK(order_of(engine, lane, priorities) == std::vector<std::size_t>{5, 1, 3, 7, 0, 4, 2, 6});
  }
}

TEST_CASE("what becomes urgent while a worker has taken others along goes before these") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  constexpr int kOperations = 200;  // so many that the worker takes some of them along
  constexpr int kUrgent = 1000;
  Log<int> log;
  HeldOperation held(engine, {}, {});
  held.wait_until_started();
  for (int i = 0; i < kOperations; ++i) {
    engine.push(
        [&engine, &log, i] {
          log.add(i);
          if (i % 10 == 5) engine.push([&log] { log.add(kUrgent); }, {}, {}, {.priority = 1});
        },
        {}, {});
  }
  held.release();
  engine.wait_for_all();
  std::vector<int> expected;
  for (int i = 0; i < kOperations; ++i) {
    expected.push_back(i);
    if (i % 10 == 5) expected.push_back(kUrgent);
  }
  CHECK(log.entries() == expected);
}

TEST_CASE("a successor runs in its turn among what a worker has taken along") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  constexpr int kOperations = 200;
  Log<int> log;
  HeldOperation held(engine, {}, {});
  held.wait_until_started();
  const Var x = engine.new_variable();
  std::vector<int> expected;
  for (int i = 0; i < kOperations; ++i) {
    const auto note = [&log, i] { log.add(i); };
    if (i == 3 || i == 10) {  // the tenth becomes ready when the third has ended
      engine.push(note, {}, {x});
    } else {
      engine.push(note, {}, {});
    }
    expected.push_back(i);
  }
  held.release();
  engine.wait_for_all();
  CHECK(log.entries() == expected);
}

TEST_CASE("an earlier operation that becomes ready late goes before later ones") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  constexpr int kOperations = 200;
  constexpr int kEarlier = -1;
  Log<int> log;
  HeldOperation held(engine, {}, {});
  held.wait_until_started();
  const Var x = engine.new_variable();
  std::optional<Completion> completion;
  engine.push_async([&](RunContext&, Completion done) { completion.emplace(std::move(done)); }, {},
                    {x}, {.priority = 1});
  engine.push([&log] { log.add(kEarlier); }, {x}, {});
  for (int i = 0; i < kOperations; ++i) {
    engine.push(
        [&, i] {
          log.add(i);
          if (i == 50) std::thread([&] { completion->done(); }).join();
        },
        {}, {});
  }
  held.release();
  engine.wait_for_all();
  const std::vector<int> order = log.entries();
  REQUIRE(order.size() == kOperations + 1);
  CHECK(order[51] == kEarlier);
}

TEST_CASE("all CPU devices share the lanes of one") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  for (const Lane lane : kLanes) {
    Log<int> log;
    HeldOperation held(engine, {}, {}, {.device = Device::cpu(3), .lane = lane});
    held.wait_until_started();
    const Device devices[] = {Device::cpu(0), Device::cpu_pinned(), Device::cpu(1),
                              Device::cpu_pinned(2)};
    for (int i = 0; i < 4; ++i) {
      engine.push([&log, i] { log.add(i); }, {}, {},
                  {.device = devices[i], .lane = lane, .priority = i});
    }
    held.release();
    engine.wait_for_all();
    CAPTURE(lane_name(lane));
    CHECK(log.entries() == std::vector{3, 2, 1, 0});
  }
}

TEST_CASE("a lane other than compute has one worker, however many compute has") {
  EngineOptions options;
  options.kind = EngineKind::kThreaded;
  options.cpu_workers = 8;
  Engine engine(options);
  for (const Lane lane : {Lane::kCopyIn, Lane::kCopyOut, Lane::kComm, Lane::kBlocking}) {
    const std::vector<std::size_t> order = order_of(engine, lane, {0, 2, 1, 2});
    CAPTURE(lane_name(lane));
    CHECK(order == std::vector<std::size_t>{1, 3, 2, 0});
  }
}

TEST_CASE("the whole range of int is a priority") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  const int lowest = std::numeric_limits<int>::min();
  const int highest = std::numeric_limits<int>::max();
  CHECK(order_of(engine, Lane::kCompute, {lowest, 0, highest, lowest + 1, highest - 1}) ==
        std::vector<std::size_t>{2, 4, 1, 3, 0});
}

TEST_CASE("without priorities the push order is kept") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  for (const Lane lane : kLanes) {
    const std::vector<std::size_t> order = order_of(engine, lane, std::vector<int>(500, 3));
    CHECK(order.size() == 500);
    CHECK(std::is_sorted(order.begin(), order.end()));
  }
}

TEST_CASE("a successor runs only after what is ready and goes before it") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<int> log;
  HeldOperation held(engine, {}, {x});
  held.wait_until_started();
  engine.push([&log] { log.add(0); }, {x}, {});
  engine.push([&log] { log.add(1); }, {}, {}, {.priority = 1});
  held.release();
  engine.wait_for_all();
  CHECK(log.entries() == std::vector{1, 0});
}

TEST_CASE("a priority does not overtake what the operation depends on") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<int> log;
  for (int i = 0; i < 100; ++i) {
    engine.push([&log, i] { log.add(i); }, {}, {x}, {.priority = i});
  }
  engine.wait_for_all();
  const std::vector<int> order = log.entries();
  CHECK(order.size() == 100);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("an operation that was overtaken 1,024 times goes next") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  for (const Lane lane : kLanes) {
    std::vector<int> priorities(2000, 1);
    priorities[0] = 0;
    const std::vector<std::size_t> order = order_of(engine, lane, priorities);
    const auto position = std::find(order.begin(), order.end(), 0) - order.begin();
    CAPTURE(lane_name(lane));
    CHECK(position == 1024);
  }
}

TEST_CASE("an operation that becomes ready together with urgent ones is overtaken as seldom") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  for (const Lane lane : kLanes) {
    const Var x = engine.new_variable();
    HeldOperation held(engine, {}, {x}, {.lane = lane});
    Log<int> log;
    for (int i = 0; i < 2000; ++i) {
      engine.push([&log, i] { log.add(i); }, {x}, {}, {.lane = lane, .priority = i == 0 ? 0 : 1});
    }
    held.release();
    engine.wait_for_all();
    const std::vector<int> order = log.entries();
    CAPTURE(lane_name(lane));
    CHECK(std::find(order.begin(), order.end(), 0) - order.begin() == 1024);
  }
}

TEST_CASE("a steady stream of urgent operations does not starve a patient one") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  const Var patient = engine.new_variable();
  std::atomic<bool> done{false};
  // Each urgent operation pushes the next, so that one is always ready.
  struct Urgent {
    Engine& engine;
    std::atomic<bool>& done;
    void operator()() const {
      if (!done) engine.push(Urgent(*this), {}, {}, {.priority = 10});
    }
  };
  engine.push(Urgent{engine, done}, {}, {}, {.priority = 10});
  engine.push(Urgent{engine, done}, {}, {}, {.priority = 10});
  engine.push([&done] { done = true; }, {}, {patient});
  engine.wait_for_var(patient);
  engine.wait_for_all();
  CHECK(done);
}

TEST_CASE(
    "where there are several workers patience counts from when an operation has become ready") {
  constexpr std::size_t kUrgent = 10'000;
  constexpr std::size_t kPatient = 8;
  Engine engine({.cpu_workers = 2});
  const Var x = engine.new_variable();
  std::atomic<std::size_t> ran{0};
  std::atomic<bool> done{false};
  struct Urgent {
    Engine& engine;
    std::atomic<std::size_t>& ran;
    std::atomic<bool>& done;
    int priority;
    void operator()() const {
      ++ran;
      if (!done) engine.push(Urgent(*this), {}, {}, {.priority = priority});
    }
  };
  for (std::size_t i = 0; i < kUrgent; ++i) {
    const int priority = 1 + static_cast<int>(i % 7);
    engine.push(Urgent{engine, ran, done, priority}, {}, {}, {.priority = priority});
  }
  std::vector<std::size_t> ran_at;  // when each of a chain of others ran
  for (std::size_t i = 0; i < kPatient; ++i) {
    engine.push([&] { ran_at.push_back(ran); }, {}, {x});
  }
  engine.push([&] { done = true; }, {x}, {});
  engine.wait_for_all();
  std::vector<std::size_t> overtakers;
  std::adjacent_difference(ran_at.begin(), ran_at.end(), std::back_inserter(overtakers));
  // Those that were there before, and 1,024 more; but a thread may lose its CPU at any time.
  std::sort(overtakers.begin() + 1, overtakers.end());
  CHECK(overtakers[kPatient / 2] < kUrgent + 2 * 1024);
}

TEST_CASE("priorities of a lane do not touch other lanes") {
  EngineOptions options;
  options.kind = EngineKind::kThreaded;
  options.cpu_workers = 1;
  Engine engine(options);
  HeldOperation urgent(engine, {}, {}, {.lane = Lane::kCopyIn, .priority = 1000});
  urgent.wait_until_started();
  const Var x = engine.new_variable();
  int value = 0;
  engine.push([&value] { value = 1; }, {}, {x}, {.lane = Lane::kCopyOut, .priority = -1000});
  engine.wait_for_var(x);
  CHECK(value == 1);
}

/// How many of 1,000 operations have run before one of higher priority that is pushed last, while
/// all workers are busy.
int overtaken_by(Engine& engine) {
  const auto workers = static_cast<std::size_t>(engine.options().cpu_workers);
  std::deque<HeldOperation> held;
  for (std::size_t i = 0; i < workers; ++i) held.emplace_back(engine, VarList{}, VarList{});
  for (const HeldOperation& each : held) each.wait_until_started();
  std::atomic<int> before{0};
  std::atomic<int> result{-1};
  for (int i = 0; i < 1000; ++i) engine.push([&before] { ++before; }, {}, {});
  engine.push([&] { result = before.load(); }, {}, {}, {.priority = 5});
  for (HeldOperation& each : held) each.release();
  engine.wait_for_all();
  return result;
}

TEST_CASE("a priority counts however much waits and however many workers there are") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  // The median, as the worker that takes it may lose its CPU before it says so.
  std::array<int, 7> rounds{};
  for (int& round : rounds) round = overtaken_by(engine);
  std::sort(rounds.begin(), rounds.end());
  CHECK(rounds[rounds.size() / 2] < 250);
}

}  // namespace
}  // namespace heddle
