#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"

// A run whose dependencies are known beforehand waits, and is waited for, as if its operations had
// been pushed one by one.

namespace heddle {
namespace {

using support::Counter;
using support::Gate;
using support::Log;

EngineOptions workers(int count) { return {.kind = EngineKind::kThreaded, .cpu_workers = count}; }

TEST_CASE("a wait for a variable ends when its run has written it, though the run goes on") {
  Engine engine(workers(2));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  Gate gate;
  int value = 0;
  const Recording recording = engine.record([&] {
    engine.push([&gate] { gate.wait(); }, {}, {y});
    engine.push([&value] { ++value; }, {}, {x});
    engine.push([&gate] { gate.wait(); }, {x}, {y});
  });
  recording.run();
  engine.wait_for_var(x);
  CHECK(value == 1);
  CHECK(engine.version(x) == 1);
  gate.open();
  engine.wait_for_all();
}

TEST_CASE("what is pushed after a run may read what the run still reads") {
  Engine engine(workers(2));
  const Var x = engine.new_variable("x");
  Counter later;
  const Recording recording = engine.record([&] {
    engine.push([] {}, {}, {x});
    engine.push([&later] { later.wait_for(1); }, {x}, {});
  });
  recording.run();
  engine.push([&later] { later.add(); }, {x}, {});
  engine.wait_for_all();
  CHECK(later.value() == 1);
}

TEST_CASE("a run may read what an operation before it still reads") {
  Engine engine(workers(2));
  const Var x = engine.new_variable("x");
  Counter read;
  const Recording recording = engine.record([&] {
    engine.push([&read] { read.add(); }, {x}, {});
    engine.push([] {}, {x}, {});
    engine.push([] {}, {}, {x});
  });
  engine.push([&read] { read.wait_for(1); }, {x}, {});
  recording.run();
  engine.wait_for_all();
  CHECK(engine.version(x) == 1);
}

TEST_CASE("a run begins before the one before has ended, with what that has done with") {
  Engine engine(workers(2));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  Counter written;
  const Recording recording = engine.record([&] {
    engine.push([&written] { written.add(); }, {}, {x});
    engine.push([&written] { written.wait_for(2); }, {}, {y});
  });
  recording.run();
  recording.run();
  engine.wait_for_all();
  CHECK(written.value() == 2);
}

TEST_CASE("an operation of a run that takes long keeps no other worker from the rest of the run") {
  Engine engine(workers(2));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  for (int run = 0; run < 20; ++run) {
    Counter done;
    // Now and then the other worker sleeps by then.
    const std::chrono::milliseconds pause(run % 4 == 0 ? 5 : 0);
    const Recording recording = engine.record([&] {
      engine.push([pause] { std::this_thread::sleep_for(pause); }, {}, {x, y});
      engine.push([&done] { done.wait_for(3); }, {}, {x});
      for (int i = 0; i < 3; ++i) engine.push([&done] { done.add(); }, {}, {y});
    });
    recording.run();
    engine.wait_for_all();
    CHECK(done.value() == 3);
  }
}

std::vector<Var> new_variables(Engine& engine) {
  std::vector<Var> variables;
  for (int i = 0; i < 8; ++i) variables.push_back(engine.new_variable());
  return variables;
}

/// 4,096 operations that do nothing.
Recording record_small(Engine& engine) {
  const std::vector<Var> variables = new_variables(engine);
  return engine.record([&] {
    for (std::size_t i = 0; i < 4096; ++i) engine.push([] {}, {}, {variables[i % 8]});
  });
}

/// 256 small operations, of which the first two wait for each other once `meet` is true.
Recording record_meeting(Engine& engine, const std::vector<Var>& variables, const bool& meet,
                         Counter& arrived) {
  return engine.record([&] {
    for (std::size_t i = 0; i < 256; ++i) {
      engine.push(
          [&meet, &arrived, i] {
            if (!meet || i >= 2) return;
            arrived.add();
            arrived.wait_for(2);
          },
          {}, {variables[i % 8]});
    }
  });
}

TEST_CASE(
    "an operation that has been small so far keeps no other worker from the rest of the run") {
  const int count = GENERATE(2, 4);
  Engine engine(workers(count));
  bool meet = false;  // written while nothing is pending
  Counter arrived;
  const Recording recording = record_meeting(engine, new_variables(engine), meet, arrived);
  for (int i = 0; i < 8; ++i) recording.run();
  engine.wait_for_all();
  meet = true;
  recording.run();
  engine.wait_for_all();
  CHECK(arrived.value() == 2);
}

TEST_CASE("an operation that waits keeps no worker from its run though another run is fast") {
  const int count = GENERATE(2, 3);
  CAPTURE(count);
  Engine engine(workers(count));
  bool meet = false;
  Counter arrived;
  const Recording recording = record_meeting(engine, new_variables(engine), meet, arrived);
  const Recording busy = record_small(engine);
  for (int i = 0; i < 8; ++i) recording.run();
  engine.wait_for_all();
  meet = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::jthread pusher([&] {
    while (arrived.value() < 2 && std::chrono::steady_clock::now() < end) busy.run();
  });
  recording.run();
  pusher.join();
  CHECK(arrived.value() == 2);
  engine.wait_for_all();
}

TEST_CASE("a run that waits for others keeps none of its operations from workers at a fast run") {
  Engine engine(workers(2));
  const Var awaited = engine.new_variable("awaited");
  const Var free = engine.new_variable("free");
  std::atomic<int> runs{0};
  const Recording recording = engine.record([&] {
    engine.push([] {}, {}, {awaited});
    engine.push([&runs] { ++runs; }, {}, {free});
    for (int i = 0; i < 200; ++i) engine.push([] {}, {}, {awaited});
  });
  const Recording busy = record_small(engine);
  for (int i = 0; i < 8; ++i) recording.run();
  engine.wait_for_all();
  std::optional<Completion> owed;
  Gate is_owed;
  engine.push_async(
      [&](const RunContext&, Completion completion) {
        owed = std::move(completion);
        is_owed.open();
      },
      {}, {awaited});
  is_owed.wait();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::jthread pusher([&] {
    while (runs != 9 && std::chrono::steady_clock::now() < end) busy.run();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until all workers are at it
  recording.run();
  pusher.join();
  CHECK(runs == 9);
  owed->done();
  engine.wait_for_all();
}

TEST_CASE(
    "what small operations of a run have done with is handed on while the next one is held up") {
  constexpr std::size_t kBefore = 8;
  const int count = GENERATE(2, 4);
  Engine engine(workers(count));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  bool meet = false;  // written while nothing is pending
  Counter written;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 200; ++i) engine.push([] {}, {}, {x});
    engine.push([&] { written.add(); }, {}, {x});
    engine.push(
        [&] {
          if (meet) written.wait_for(kBefore + 2);
        },
        {}, {y});
    for (int i = 0; i < 200; ++i) engine.push([] {}, {}, {y});
  });
  for (std::size_t i = 0; i < kBefore; ++i) recording.run();
  engine.wait_for_all();
  meet = true;
  recording.run();
  recording.run();
  engine.wait_for_all();
  CHECK(written.value() == kBefore + 2);
}

TEST_CASE("one worker runs what is ready in a run in push order") {
  Engine engine(workers(1));
  constexpr int kOperations = 300;
  std::vector<Var> variables;
  for (int i = 0; i < 7; ++i) variables.push_back(engine.new_variable());
  const auto variable = [&](int i) { return variables[static_cast<std::size_t>(i) % 7]; };
  Log<int> log;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < kOperations; ++i) {
      engine.push([&log, i] { log.add(i); }, {variable(i * i)}, {variable(i * 5 + 1)});
    }
  });
  Gate gate;
  engine.push([&gate] { gate.wait(); }, {}, {});
  recording.run();
  gate.open();
  engine.wait_for_all();
  std::vector<int> expected(kOperations);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(log.entries() == expected);
}

TEST_CASE("what others hold in a run keeps its only worker from nothing else in it") {
  Engine engine(workers(1));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  for (const int before : {0, 1, 50}) {
    for (int run = 0; run < 20; ++run) {
      Counter done;
      Log<std::string> log;
      const Recording recording = engine.record([&] {
        for (int i = 0; i < before; ++i) engine.push([] {}, {}, {y});
        engine.push([&log] { log.add("held"); }, {x}, {});
        engine.push([&] { log.add("free"), done.add(); }, {}, {y});
        engine.push([&log] { log.add("last"); }, {}, {x, y});
      });
      engine.push([&done] { done.wait_for(1); }, {}, {x}, {.lane = Lane::kCopyIn});
      recording.run();
      engine.wait_for_all();
      CHECK(log.entries() == std::vector<std::string>{"free", "held", "last"});
    }
  }
}

TEST_CASE("what others hold in a run keeps nothing else in it behind what was pushed later") {
  Engine engine(workers(1));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  const Var z = engine.new_variable("z");
  for (const bool after_a_run : {false, true}) {
    Counter done;
    Gate gate;
    Log<std::string> log;
    const Recording before = engine.record([&] { engine.push([&gate] { gate.wait(); }, {}, {y}); });
    const Recording recording = engine.record([&] {
      engine.push([] {}, {}, {x});
      engine.push([&] { log.add("earlier"), done.add(); }, {}, {y});
    });
    engine.push([&done] { done.wait_for(1); }, {}, {x}, {.lane = Lane::kCopyIn});
    if (after_a_run) {
      before.run();
    } else {
      engine.push([&gate] { gate.wait(); }, {}, {y});
    }
    recording.run();
    engine.push([&log] { log.add("later"); }, {}, {z});
    gate.open();
    engine.wait_for_all();
    CHECK(log.entries() == std::vector<std::string>{"earlier", "later"});
  }
}

TEST_CASE("what waits for a part of a run and needs no worker goes on beside the rest of it") {
  Engine engine(workers(1));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  Gate gate;
  Gate pushed;
  const Recording recording = engine.record([&] {
    engine.push([&pushed] { pushed.wait(); }, {}, {x});
    engine.push([&gate] { gate.wait(); }, {}, {y});
  });
  SECTION("a wait for a variable whose error is cleared") {
    recording.run();
    engine.clear_error(x);
    pushed.open();
    engine.wait_for_var(x);
    gate.open();
  }
  SECTION("what is called with the end of a variable") {
    recording.run();
    engine.delete_variable(x, [&gate] { gate.open(); }, {.brief = true});
    pushed.open();
  }
  engine.wait_for_all();
  CHECK(engine.version(y) == 1);
}

TEST_CASE("an operation of higher priority goes before the rest of a run") {
  Engine engine(workers(1));
  const Var x = engine.new_variable("x");
  Gate first_runs;
  Gate gate;
  Log<int> log;
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          first_runs.open();
          gate.wait();
        },
        {}, {x});
    for (int i = 0; i < 3; ++i) engine.push([&log, i] { log.add(i); }, {}, {x});
  });
  recording.run();
  first_runs.wait();
  engine.push([&log] { log.add(-1); }, {}, {}, {.priority = 1});
  engine.push([&log] { log.add(3); }, {}, {});
  gate.open();
  engine.wait_for_all();
  CHECK(log.entries() == std::vector<int>{-1, 0, 1, 2, 3});
}

TEST_CASE("a run carries poison through, and lifts it where it overwrites") {
  Engine engine(workers(2));
  const Var x = engine.new_variable("x");
  const Var y = engine.new_variable("y");
  bool fails = false;
  const Recording recording = engine.record([&] {
    engine.push([] {}, {x}, {y});
    engine.push(
        [&fails] {
          if (fails) throw Error("planned");
        },
        {}, {x}, {.name = "second", .overwrites = true});
  });
  engine.push([] { throw Error("before"); }, {}, {x});
  recording.run();
  CHECK_THROWS_WITH(engine.wait_for_var(y), Catch::Matchers::Contains("before"));
  CHECK_NOTHROW(engine.wait_for_var(x));
  fails = true;
  recording.run();
  CHECK_THROWS_WITH(engine.wait_for_var(x), Catch::Matchers::Contains("second"));
  CHECK(engine.version(x) == 3);
  CHECK(engine.version(y) == 2);
}

}  // namespace
}  // namespace heddle
