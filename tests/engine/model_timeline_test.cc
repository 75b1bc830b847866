#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ops.h"
#include "heddle/trace.h"

#include "tests/support/engines.h"

// The model clock in the records of an engine, with two GPUs of a p3.16xlarge.

namespace heddle {
namespace {

using support::traced;

using Timeline = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Of the operations, by sequence.
Timeline timeline_of(const Engine& engine) {
  std::vector<OpRecord> records = engine.trace();
  std::sort(records.begin(), records.end(),
            [](const OpRecord& a, const OpRecord& b) { return a.sequence < b.sequence; });
  Timeline timeline;
  for (const OpRecord& record : records) {
    timeline.emplace_back(record.modelled_start, record.modelled_end);
  }
  return timeline;
}

/// A megabyte from the host to GPU `id`.
PushOptions copy_in(int id) {
  static const std::array<CopyCost, 2> costs = {{
      {.bytes = 1'000'000, .to = Device::gpu(0)},
      {.bytes = 1'000'000, .to = Device::gpu(1)},
  }};
  return {.device = Device::gpu(id),
          .lane = Lane::kCopyIn,
          .copies = std::span(&costs.at(static_cast<std::size_t>(id)), 1)};
}

PushOptions compute_on(int id, double flops) { return {.device = Device::gpu(id), .flops = flops}; }

/// Copies and computing on both GPUs, with waits between, that the host delays here and there.
void run_program(Engine& engine, bool delay) {
  const auto work = [delay](int i) {
    return [delay, i] {
      if (delay && i % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
  };
  const std::vector<Var> vars = {engine.new_variable(), engine.new_variable(),
                                 engine.new_variable()};
  for (int i = 0; i < 40; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const Var& x = vars[index % 3];
    const Var& y = vars[(index + 1) % 3];
    if (i % 3 == 0) {
      engine.push(work(i), {}, {x}, copy_in(i % 2));
    } else {
      PushOptions options = compute_on(i % 2, 1e6 * i);
      options.priority = i % 4;
      engine.push(work(i), {x}, {y}, options);
    }
    if (i % 11 == 10) engine.wait_for_var(x);
  }
  engine.wait_for_all();
}

TEST_CASE("the modelled timeline is that of the named machine") {
  Engine engine(EngineOptions{.trace = true});
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {x}, copy_in(0));
  engine.push([] {}, {x}, {}, compute_on(0, 15.7e6));
  engine.wait_for_all();
  // 10 us and 1 MB at 11.5 GB/s; 3 us and 15.7 MFLOP at 15.7 TFLOP/s.
  CHECK(timeline_of(engine) == Timeline{{0, 96957}, {96957, 100957}});
}

TEST_CASE("the modelled timeline depends on neither the engine, nor its workers, nor the load") {
  HEDDLE_FOR_EACH(options, every_engine);
  static const Timeline expected = [] {
    Engine engine(EngineOptions{.kind = EngineKind::kNaive, .trace = true});
    run_program(engine, /*delay=*/false);
    return timeline_of(engine);
  }();
  Engine engine(traced(options));
  run_program(engine, /*delay=*/true);
  CHECK(expected.size() == 40);
  CHECK(timeline_of(engine) == expected);
}

TEST_CASE("what was lent to an operation while the host had not run it does not show") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(traced(options));
  const Var x = engine.new_variable();
  engine.push([] {}, {}, {}, compute_on(0, 15.7e6));
  engine.push([] {}, {}, {x}, compute_on(0, 15.7e6));
  PushOptions urgent = compute_on(0, 15.7e6);
  urgent.priority = 1;
  if (GENERATE(false, true)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  engine.push([] {}, {x}, {}, urgent);
  engine.wait_for_all();
  CHECK(timeline_of(engine) == Timeline{{8000, 12000}, {0, 4000}, {4000, 8000}});
}

TEST_CASE("what an operation pushes does not come after the wait of the thread that runs it") {
  for (int round = 0; round < 30; ++round) {
    Engine engine(EngineOptions{.cpu_workers = 1, .trace = true});
    engine.push([] {}, {}, {}, compute_on(0, 15.7e9));
    const auto parent = [&engine] { engine.push([] {}, {}, {}, copy_in(1)); };
    engine.push(parent, {}, {});
    engine.wait_for_all();  // runs the parent itself, mostly
    REQUIRE(timeline_of(engine).back().first == 0);
  }
}

TEST_CASE("variables that follow each other at one address are not taken for one another") {
  Engine engine(EngineOptions{.trace = true});
  for (int i = 0; i < 10; ++i) {
    const Var x = engine.new_variable();
    engine.push([] {}, {}, {x}, compute_on(i % 2, 15.7e6));
    if (i % 2 == 1) engine.wait_for_all();
  }
  const Timeline timeline = timeline_of(engine);
  for (std::size_t i = 0; i < 10; i += 2) CHECK(timeline[i] == timeline[i + 1]);
}

TEST_CASE("a skipped operation takes no modelled time") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(traced(options));
  const Var x = engine.new_variable();
  engine.push([] { throw 1; }, {}, {x}, compute_on(0, 1e9));
  engine.push([] {}, {x}, {}, compute_on(0, 1e9));
  CHECK_THROWS_AS(engine.wait_for_all(), AggregateError);
  const Timeline timeline = timeline_of(engine);
  CHECK(timeline[0].second > 0);
  CHECK(timeline[1].first == timeline[0].second);
  CHECK(timeline[1].second == timeline[0].second);
}

TEST_CASE("records on the model clock can be summed up like those on the wall clock") {
  Engine engine(EngineOptions{.trace = true});
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  engine.push([] {}, {}, {x}, copy_in(0));
  engine.push([] {}, {}, {y}, compute_on(0, 15.7e6 * 47));
  engine.wait_for_all();
  const DeviceActivity activity = summarize(on_model_clock(engine.trace())).at(Device::gpu(0));
  CHECK(activity.copy == Approx(96.957e-6));
  CHECK(activity.compute == Approx(50e-6));
  CHECK(activity.copy_hidden == Approx(50e-6));
}

}  // namespace
}  // namespace heddle
