// Pushes that a worker finds only when it has nothing else to do.

#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"

namespace heddle {
namespace {

using support::Gate;
using support::HeldOperation;
using support::Log;

const EngineOptions kOneWorker{.cpu_workers = 1};
constexpr int kUnseen = 512;     ///< operations after which a worker looks at what has arrived
constexpr int kPatience = 1024;  ///< how often what it has seen is overtaken

TEST_CASE("many pushes that a wait has to look through run in their order on one worker") {
  constexpr int kPushes = 3000;
  for (int round = 0; round < 20; ++round) {
    Engine engine(kOneWorker);
    const Var x = engine.new_variable();
    Log<int> log;
    HeldOperation held(engine, {}, {});
    held.wait_until_started();
    for (int i = 0; i < kPushes; ++i) engine.push([&log, i] { log.add(i); }, {}, {});
    engine.push([] {}, {}, {x});
    held.release();
    engine.wait_for_var(x);
    engine.wait_for_all();
    std::vector<int> expected(kPushes);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(log.entries() == expected);
  }
}

TEST_CASE("what is pushed behind a recording of several priorities keeps its own place") {
  Engine engine(kOneWorker);
  Gate started;
  Gate gate;
  Log<int> log;
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          started.open();
          gate.wait();
        },
        {}, {}, {.priority = 5});
    engine.push([&log] { log.add(2); }, {}, {}, {.priority = 0});
    engine.push([&log] { log.add(0); }, {}, {}, {.priority = 5});
  });
  recording.run();
  started.wait();
  engine.push([&log] { log.add(1); }, {}, {}, {.priority = 5});
  gate.open();
  engine.wait_for_all();
  CHECK(log.entries() == std::vector<int>{0, 1, 2});
}

TEST_CASE("what is pushed beside a long run is overtaken 1,536 times at most") {
  constexpr int kOperations = 20'000;
  Engine engine(kOneWorker);
  const Var chain = engine.new_variable();
  Gate started;
  Gate gate;
  int ran = 0;
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          started.open();
          gate.wait();
        },
        {}, {chain});
    for (int i = 0; i < kOperations; ++i) engine.push([&ran] { ++ran; }, {}, {chain});
  });
  recording.run();
  started.wait();
  int ran_before = 0;
  engine.push([&ran, &ran_before] { ran_before = ran; }, {}, {});
  gate.open();
  engine.wait_for_all();
  CHECK(ran_before <= kPatience + kUnseen);
}

TEST_CASE("what is pushed beside two long chains is overtaken 1,536 times at most") {
  constexpr int kOperations = 20'000;
  Engine engine(kOneWorker);
  const Var chains[] = {engine.new_variable(), engine.new_variable()};
  Gate started;
  Gate gate;
  int ran = 0;
  engine.push(
      [&] {
        started.open();
        gate.wait();
      },
      {}, {chains[0], chains[1]});
  started.wait();
  for (int i = 0; i < kOperations; ++i) engine.push([&ran] { ++ran; }, {}, {chains[i % 2]});
  engine.push([] {}, {}, {chains[0]}, {.name = "gives all before it their places"});
  int ran_before = 0;
  engine.push([&ran, &ran_before] { ran_before = ran; }, {}, {});
  gate.open();
  engine.wait_for_all();
  CHECK(ran == kOperations);
  CHECK(ran_before <= kPatience + kUnseen);
}

}  // namespace
}  // namespace heddle
