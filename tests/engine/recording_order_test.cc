#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"

// What stands beside a run in the queue of its only worker comes in its turn, and so does who waits
// for places, though the worker goes on with the run without a look at either for each operation.

namespace heddle {
namespace {

using support::Gate;
using support::HeldOperation;
using support::Log;

/// One worker, and operations that say who they are.
class Program {
 public:
  Engine& engine() { return engine_; }
  Var variable() { return engine_.new_variable(); }
  void push(int who, int priority, const Var& mutates) {
    engine_.push([this, who] { log_.add(who); }, {}, {mutates}, {.priority = priority});
  }
  void push(int who, int priority) {
    engine_.push([this, who] { log_.add(who); }, {}, {}, {.priority = priority});
  }
  Recording chain(int who, int priority, int count) {
    const Var x = variable();
    return engine_.record([&] {
      for (int i = 0; i < count; ++i) push(who, priority, x);
    });
  }
  std::vector<int> order() {
    engine_.wait_for_all();
    return log_.entries();
  }

 private:
  Log<int> log_;
  Engine engine_{{.kind = EngineKind::kThreaded, .cpu_workers = 1}};
};

std::ptrdiff_t place_of(int who, const std::vector<int>& order) {
  return std::find(order.begin(), order.end(), who) - order.begin();
}

TEST_CASE("an operation that a run has overtaken 1,024 times goes before the rest of it") {
  const bool is_beside_another = GENERATE(false, true);
  Program program;
  const Recording run = program.chain(1, 2, 3000);
  const Recording other = program.chain(2, 1, 10);
  HeldOperation held(program.engine(), {}, {});
  held.wait_until_started();
  run.run();
  program.push(3, 0);
  program.push(4, -1);
  if (is_beside_another) other.run();
  held.release();
  const std::vector<int> order = program.order();
  CHECK(place_of(3, order) == 1 + 1024);  // the run's first operation was there before
  CHECK(place_of(4, order) == 1 + 1025);
}

TEST_CASE("what a run has overtaken makes nothing older that comes later") {
  Program program;
  const Recording run = program.chain(1, 0, 1000);
  Engine& engine = program.engine();
  {
    HeldOperation held(engine, {}, {});
    held.wait_until_started();
    run.run();
    program.push(2, -1);
    held.release();
  }
  engine.wait_for_all();
  const Var y = program.variable();
  {
    HeldOperation held(engine, {}, {y});
    held.wait_until_started();
    program.push(3, 10, y);
    program.push(4, -1);
    for (int i = 0; i < 100; ++i) program.push(5, 5);
    held.release();
  }
  std::vector<int> expected(1000, 1);
  expected.insert(expected.end(), {2, 3});
  expected.insert(expected.end(), 100, 5);
  expected.push_back(4);
  CHECK(program.order() == expected);
}

TEST_CASE("a run that goes next as it was overtaken for long lets others go before its rest") {
  Program program;
  const Recording patient = program.chain(1, 0, 500);
  const Recording urgent = program.chain(2, 10, 4);
  HeldOperation held(program.engine(), {}, {});
  held.wait_until_started();
  patient.run();
  for (int i = 0; i < 1200; ++i) program.push(3, 5);
  urgent.run();
  held.release();
  const std::vector<int> order = program.order();
  const std::ptrdiff_t first = place_of(1, order);
  CHECK(first == 1024);
  CHECK(order[static_cast<std::size_t>(first) + 1] == 3);
}

TEST_CASE("what a worker has taken along is overtaken 1,024 times at most, too") {
  constexpr int kBlocks = 32;
  Program program;
  HeldOperation held(program.engine(), {}, {});
  held.wait_until_started();
  for (int i = 0; i < kBlocks; ++i) {
    const Var x = program.variable();
    program.push(i == kBlocks - 1 ? 2 : 1, 1, x);
    for (int k = 0; k < 1000; ++k) program.push(3, 1, x);
  }
  held.release();
  const std::vector<int> order = program.order();
  const auto last = order.begin() + place_of(2, order);
  CHECK(std::count(order.begin(), last, 3) == 1024);
}

TEST_CASE("an operation of a run knows its own lane and device") {
  Engine engine({.kind = EngineKind::kPooled, .cpu_workers = 1});
  const Var x = engine.new_variable();
  std::vector<RunContext> seen;
  const auto push = [&](Device device, Lane lane) {
    engine.push([&seen](RunContext& context) { seen.push_back(context); }, {}, {x},
                {.device = device, .lane = lane});
  };
  const Recording recording = engine.record([&] {
    push(Device::cpu(0), Lane::kCompute);
    push(Device::cpu(0), Lane::kCopyIn);
    push(Device::cpu(1), Lane::kCompute);
  });
  recording.run();
  engine.wait_for_all();
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].device == Device::cpu(0));
  CHECK(seen[0].lane == Lane::kCompute);
  CHECK(seen[1].device == Device::cpu(0));
  CHECK(seen[1].lane == Lane::kCopyIn);
  CHECK(seen[2].device == Device::cpu(1));
  CHECK(seen[2].lane == Lane::kCompute);
}

/// 15 operations that do nothing, and one that waits.
Recording record_with_wait(Engine& engine, Gate& started, Gate& gate) {
  const Var x = engine.new_variable();
  return engine.record([&] {
    for (int i = 0; i < 15; ++i) engine.push([] {}, {}, {x});
    engine.push(
        [&] {
          started.open();
          gate.wait();
        },
        {}, {x});
  });
}

TEST_CASE("what has ended of a run gives its places back though the next one takes long") {
  Gate started;
  Gate gate;
  // The watchdog would ask how far the run is.
  Engine engine({.kind = EngineKind::kThreaded,
                 .cpu_workers = 1,
                 .max_pending = 16,
                 .watchdog = std::chrono::milliseconds(0)});
  const Recording recording = record_with_wait(engine, started, gate);
  recording.run();
  started.wait();
  for (int i = 0; i < 15; ++i) engine.push([] {}, {}, {});
  CHECK(!engine.try_push([] {}, {}, {}));
  gate.open();
  engine.wait_for_all();
}

TEST_CASE("what has ended of a run is not called abandoned though the next one takes long") {
  Gate started;
  Gate gate;
  Engine engine({.kind = EngineKind::kThreaded, .cpu_workers = 1});
  const Recording recording = record_with_wait(engine, started, gate);
  recording.run();
  started.wait();
  const ShutdownReport report =
      engine.shutdown(ShutdownMode::kDrain, std::chrono::milliseconds(20));
  gate.open();
  CHECK(report.completed == 15);
  CHECK(report.abandoned == 1);
  CHECK(engine.shutdown().abandoned == 0);  // the engine does not wait for it when it goes
}

}  // namespace
}  // namespace heddle
