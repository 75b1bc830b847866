#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/forked_child.h"
#include "tests/support/gate.h"

// Where Recording::run() is refused, waits or is cut short.

namespace heddle {
namespace {

using std::chrono::seconds;
using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::limited;

TEST_CASE("a deleted variable is refused by name and nothing is pushed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable("x");
  const Var gone = engine.new_variable("gone");
  Counter calls;
  const Recording recording = engine.record([&] {
    engine.push([&calls] { calls.add(); }, {}, {x});
    engine.push([&calls] { calls.add(); }, {gone}, {x});
  });
  recording.run();
  engine.delete_variable(gone);
  CHECK_THROWS_WITH(recording.run(),
                    Catch::Contains("[Recording::run]") && Catch::Contains("'gone' was deleted"));
  CHECK_THROWS_AS(recording.run(), std::invalid_argument);
  CHECK(engine.push([] {}, {}, {x}) == 4);
  engine.wait_for_all();
  CHECK(calls.value() == 2);
}

TEST_CASE("a recording may outlive its engine, and then refuses to run") {
  HEDDLE_FOR_EACH(options, every_engine);
  const auto captured = std::make_shared<int>(0);
  Completion kept(nullptr);
  {
    Recording recording;
    {
      Engine engine(options);
      recording = engine.record([&] { engine.push([captured] { ++*captured; }, {}, {}); });
      recording.run();
      // Keeps the inside of the engine.
      engine.push_async(
          [&kept](RunContext&, Completion completion) {
            completion.done();
            kept = std::move(completion);
          },
          {}, {});
    }
    CHECK(*captured == 1);
    CHECK_THROWS_AS(recording.run(), std::invalid_argument);
    CHECK(recording.size() == 1);
  }
  CHECK(captured.use_count() == 1);
}

TEST_CASE("a recording that refers to nothing refuses to run") {
  Engine engine({.kind = EngineKind::kNaive});
  Recording recording = engine.record([&] { engine.push([] {}, {}, {}); });
  const Recording moved = std::move(recording);
  CHECK_THROWS_AS(Recording().run(), std::invalid_argument);
  CHECK_THROWS_AS(recording.run(), std::invalid_argument);  // NOLINT(bugprone-use-after-move)
  CHECK(recording.size() == 0);
  CHECK(moved.run() == 1);
}

TEST_CASE("in a forked child a recording throws ForkedChild and can be destroyed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  support::wait_until_workers_run(engine);
  Recording recording = engine.record([&] { engine.push([] {}, {}, {}); });
  recording.run();
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      recording.run();
    } catch (const ForkedChild&) {
      code = 7;
    }
    recording = Recording();
    _exit(code);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a run waits while the queue is full and then takes places for all") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(limited(options, 4));
  const Var x = engine.new_variable();
  Counter calls;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 500; ++i) engine.push([&calls] { calls.add(); }, {}, {x});
  });
  HeldOperation held(engine, {}, {x});
  for (int i = 0; i < 3; ++i) engine.push([] {}, {}, {x});
  Gate returned;
  std::jthread pusher([&] {
    recording.run();
    returned.open();
  });
  CHECK(!engine.try_push([] {}, {}, {}).has_value());
  CHECK(!returned.is_open());
  held.release();
  returned.wait();
  engine.wait_for_all();
  CHECK(calls.value() == 500);
}

TEST_CASE("a run is admitted whatever its length, and inside an operation at once") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(limited(options, 2));
  const Var x = engine.new_variable();
  int calls = 0;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 300; ++i) engine.push([&calls] { ++calls; }, {}, {x});
  });
  recording.run();
  recording.run();
  engine.push(
      [&recording] {
        for (int i = 0; i < 3; ++i) recording.run();
      },
      {}, {});
  engine.wait_for_all();
  CHECK(calls == 1500);
}

TEST_CASE("after shutdown a run throws EngineStopped") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Recording recording = engine.record([&] { engine.push([] {}, {}, {}); });
  recording.run();
  const ShutdownReport report = engine.shutdown(ShutdownMode::kDrain, seconds(60));
  CHECK(report.completed == 1);
  CHECK_THROWS_AS(recording.run(), EngineStopped);
}

TEST_CASE("what is left of a run when the engine is cancelled is counted and poisons") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  const auto captured = std::make_shared<int>(0);
  Gate started;
  {
    const Recording recording = engine.record([&] {
      engine.push(
          [&started, captured](RunContext& context) {
            started.open();
            while (!context.stop_requested()) std::this_thread::yield();
          },
          {}, {x});
      for (int i = 0; i < 200; ++i) engine.push([captured] { ++*captured; }, {}, {x});
    });
    recording.run();
    recording.run();
  }
  started.wait();
  const ShutdownReport report = engine.shutdown(ShutdownMode::kCancel, seconds(60));
  CHECK(report.completed == 1);
  CHECK(report.cancelled == 401);
  CHECK(report.abandoned == 0);
  CHECK(*captured == 0);
  CHECK(captured.use_count() == 1);
  CHECK_THROWS_AS(engine.wait_for_var(x), EngineStopped);
}

TEST_CASE("a shutdown while others run recordings loses nothing") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const ShutdownMode mode = GENERATE(ShutdownMode::kDrain, ShutdownMode::kCancel);
  Engine engine(options);
  std::atomic<std::uint64_t> pushed{0};
  ShutdownReport report;
  {
    Counter going;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        const Recording recording = engine.record([&] {
          for (int i = 0; i < 150; ++i) engine.push([] {}, {}, {});
        });
        try {
          for (;;) {
            recording.run();
            pushed += recording.size();
            going.add();
          }
        } catch (const EngineStopped&) {
        }
      });
    }
    going.wait_for(10);
    report = engine.shutdown(mode, seconds(60));
  }
  CHECK(report.abandoned == 0);
  CHECK(report.completed + report.cancelled == pushed);
}

TEST_CASE("an exception that pushes when it is destroyed does not hold up a run") {
  HEDDLE_FOR_EACH(options, every_engine);
  struct Thrown {
    std::shared_ptr<void> last;
  };
  constexpr int kTimes = 100;
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  std::atomic<int> pushed{0};
  const auto push = [&](void*) { engine.push([&pushed] { ++pushed; }, {}, {}); };
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 150; ++i) engine.push([] {}, {}, {y});
  });
  for (int i = 0; i < kTimes; ++i) {
    engine.push([&push] { throw Thrown{std::shared_ptr<void>(nullptr, push)}; }, {}, {x});
    CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
    engine.push([] {}, {}, {x}, {.overwrites = true});  // the error is not needed any more
    recording.run();
  }
  while (pushed < kTimes) engine.wait_for_all();
  CHECK(pushed == kTimes);
}

}  // namespace
}  // namespace heddle
