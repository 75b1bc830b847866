#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"
#include "tests/support/root_of.h"
#include "tests/support/scale.h"

// What Recording::run() does: it is the script pushed once more, in one piece.

namespace heddle {
namespace {

using support::Counter;
using support::ForeignThread;
using support::HeldOperation;
using support::Log;
using support::root_of;
using support::traced;

/// Records `count` operations that mutate `x` and log their sequence numbers, in one lane or, in
/// turn, in two.
Recording record_numbers(Engine& engine, const Var& x, std::size_t count, Log<std::uint64_t>& log,
                         std::size_t lanes = 1) {
  return engine.record([&] {
    for (std::size_t i = 0; i < count; ++i) {
      engine.push([&log](RunContext& context) { log.add(context.sequence); }, {}, {x},
                  {.lane = i % lanes == 0 ? Lane::kCompute : Lane::kCopyIn});
    }
  });
}

TEST_CASE("a run takes sequence numbers in a row and returns the first") {
  HEDDLE_FOR_EACH(options, every_engine);
  const auto lanes = GENERATE(std::size_t{1}, std::size_t{2});
  Engine engine(options);
  Log<std::uint64_t> log;
  const Var x = engine.new_variable();
  const Recording recording = record_numbers(engine, x, 200, log, lanes);
  engine.push([] {}, {}, {});
  CHECK(recording.run() == 2);
  CHECK(recording.run() == 202);
  CHECK(engine.push([] {}, {}, {}) == 402);
  engine.wait_for_all();
  std::vector<std::uint64_t> expected(400);
  std::iota(expected.begin(), expected.end(), 2);
  CHECK(log.entries() == expected);
}

TEST_CASE("the operations of a run count in the version one by one, as each ends") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Log<std::uint64_t> of_x;
  Log<std::uint64_t> of_y;
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 100; ++i) {
      engine.push([&] { of_x.add(engine.version(x)); }, {}, {x});
      engine.push([&] { of_y.add(engine.version(y)); }, {}, {y, y});
    }
  });
  recording.run();
  recording.run();
  engine.wait_for_all();
  std::vector<std::uint64_t> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(of_x.entries() == expected);
  CHECK(of_y.entries() == expected);
  CHECK(engine.version(x) == 200);
}

TEST_CASE("the operations of a run count in the version although the recording goes meanwhile") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  constexpr std::uint64_t kOperations = 16;
  for (std::uint64_t run = 1; run <= 300; ++run) {
    engine
        .record([&] {
          for (std::uint64_t i = 0; i < kOperations; ++i) engine.push([] {}, {}, {x});
        })
        .run();
    std::uint64_t last = (run - 1) * kOperations;
    while (last != run * kOperations) {
      const std::uint64_t now = engine.version(x);
      if (now < last || now > run * kOperations) FAIL("version " << now << " after " << last);
      last = now;
    }
  }
  engine.wait_for_all();
}

TEST_CASE("an empty recording pushes nothing") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Recording recording = engine.record([] {});
  CHECK(recording.size() == 0);
  CHECK(recording.run() == 0);
  CHECK(engine.push([] {}, {}, {}) == 1);
}

TEST_CASE("runs give what pushing the script as often gives, without a wait between them") {
  HEDDLE_FOR_EACH(options, every_engine);
  constexpr int kRuns = 20;
  Engine engine(options);
  std::vector<Var> vars;
  for (int i = 0; i < 8; ++i) vars.push_back(engine.new_variable());
  const auto script = [&](std::array<std::uint64_t, 8>& values) {
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t a = i % 8;
      const std::size_t b = (i * 5 + 3) % 8;
      engine.push([&values, a, b, i] { values[a] = values[a] * 31 + values[b] + i; }, {vars[b]},
                  {vars[a]});
    }
  };
  std::array<std::uint64_t, 8> pushed{};
  std::array<std::uint64_t, 8> replayed{};
  for (int i = 0; i < kRuns; ++i) script(pushed);
  engine.wait_for_all();
  const Recording recording = engine.record([&] { script(replayed); });
  for (int i = 0; i < kRuns; ++i) recording.run();
  engine.wait_for_all();
  CHECK(replayed == pushed);
}

TEST_CASE("runs of several threads stand in one row each, whatever else is pushed") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  const auto lanes = GENERATE(std::size_t{1}, std::size_t{2});
  constexpr std::size_t kLength = 300;
  constexpr std::size_t kThreads = 3;
  constexpr int kRuns = 30 / support::kScale;
  constexpr int kBetween = 100;
  Engine engine(options);
  std::array<Log<std::uint64_t>, kThreads> logs;
  std::array<Log<std::uint64_t>, kThreads> firsts;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        const Var x = engine.new_variable();
        const Recording recording = record_numbers(engine, x, kLength, logs[t], lanes);
        for (int i = 0; i < kRuns; ++i) {
          firsts[t].add(recording.run());
          for (int k = 0; k < kBetween; ++k) engine.push([] {}, {}, {});
          engine.push([&engine] { engine.push([] {}, {}, {}); }, {}, {});
          engine.delete_variable(engine.new_variable());
        }
      });
    }
  }
  engine.wait_for_all();
  for (std::size_t t = 0; t < kThreads; ++t) {
    std::vector<std::uint64_t> expected;
    for (const std::uint64_t first : firsts[t].entries()) {
      for (std::size_t i = 0; i < kLength; ++i) expected.push_back(first + i);
    }
    CHECK(logs[t].entries() == expected);
  }
}

TEST_CASE("no recorded callable is called by two runs at a time") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::array<std::atomic<int>, 2> inside{};
  std::atomic<int> twice{0};
  std::array<int, 3> calls{};  // not atomic: that is the point
  ForeignThread foreign;
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          if (inside[0].fetch_add(1) != 0) ++twice;
          ++calls[0];
          inside[0].fetch_sub(1);
        },
        {}, {});
    engine.push_async(
        [&](RunContext&, Completion completion) {
          if (inside[1].fetch_add(1) != 0) ++twice;
          ++calls[1];
          foreign.post([&, done = std::move(completion)]() mutable {
            inside[1].fetch_sub(1);
            done.done();
          });
        },
        {x}, {});
    engine.push([&calls] { ++calls[2]; }, {x}, {});
  });
  constexpr int kRuns = 200 / support::kScale;
  for (int i = 0; i < kRuns; ++i) recording.run();
  engine.wait_for_all();
  CHECK(twice == 0);
  CHECK(calls == std::array<int, 3>{kRuns, kRuns, kRuns});
}

TEST_CASE("each run of a recorded push_async has a completion of its own") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int calls = 0;
  const Recording recording = engine.record([&] {
    engine.push_async(
        [&calls](RunContext&, Completion completion) {
          if (++calls != 2) completion.done();  // else it is dropped
        },
        {}, {x}, {.overwrites = true});
  });
  recording.run();
  const std::uint64_t second = recording.run();
  CHECK(root_of(engine, x) == second);
  recording.run();
  CHECK(root_of(engine, x) == 0);
  CHECK(calls == 3);
}

TEST_CASE("poison crosses runs as it crosses pushes") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  int calls = 0;
  bool fails = true;
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          ++calls;
          if (fails) throw Error("failed");
        },
        {}, {x});
    engine.push([] {}, {x}, {y});
  });
  const std::uint64_t first = recording.run();
  recording.run();
  CHECK(root_of(engine, x) == first);
  CHECK(root_of(engine, y) == first);
  CHECK(calls == 1);
  CHECK(engine.version(x) == 2);
  engine.clear_error(x);
  engine.clear_error(y);
  engine.wait_for_var(y);
  fails = false;
  recording.run();
  CHECK(root_of(engine, y) == 0);
  CHECK(calls == 2);
}

TEST_CASE("a recorded operation that mutates nothing runs again after it has failed") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int calls = 0;
  const Recording recording = engine.record([&] {
    engine.push(
        [&calls] {
          if (++calls == 1) throw Error("failed");
        },
        {x}, {}, {.name = "reader"});
  });
  recording.run();
  recording.run();
  try {
    engine.wait_for_all();
    FAIL("nothing was thrown");
  } catch (const AggregateError& error) {
    CHECK(error.errors().size() == 1);
  }
  CHECK(calls == 2);
}

TEST_CASE("a recorded clear_error clears in each run") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int calls = 0;
  const Recording recording = engine.record([&] {
    engine.clear_error(x);
    engine.push(
        [&calls] {
          ++calls;
          throw Error("failed");
        },
        {}, {x});
  });
  for (int i = 0; i < 3; ++i) recording.run();
  CHECK(root_of(engine, x) == 6);
  CHECK(calls == 3);
}

TEST_CASE("priorities act in runs as in pushes") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  Log<int> log;
  const Recording recording = engine.record([&] {
    for (const int priority : {0, 5, -1, 7}) {
      engine.push([&log, priority] { log.add(priority); }, {}, {}, {.priority = priority});
    }
  });
  HeldOperation held(engine, {}, {});
  held.wait_until_started();
  engine.push([&log] { log.add(6); }, {}, {}, {.priority = 6});
  recording.run();
  held.release();
  engine.wait_for_all();
  CHECK(log.entries() == std::vector<int>{7, 6, 5, 0, -1});
}

TEST_CASE("recorded operations run in the lanes that they asked for") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<Lane> log;
  const std::vector<Lane> lanes = {Lane::kCopyIn, Lane::kCompute, Lane::kBlocking, Lane::kComm};
  const Recording recording = engine.record([&] {
    for (const Lane lane : lanes) {
      engine.push([&log](RunContext& context) { log.add(context.lane); }, {}, {x}, {.lane = lane});
    }
  });
  recording.run();
  engine.wait_for_all();
  CHECK(log.entries() == lanes);
}

TEST_CASE("a wait for a variable covers the runs before it") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int sum = 0;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 200; ++i) engine.push([&sum] { ++sum; }, {}, {x});
  });
  for (int i = 1; i <= 10; ++i) {
    recording.run();
    engine.wait_for_var(x);
    REQUIRE(sum == 200 * i);
  }
}

TEST_CASE("a run of an operation is covered by the wait that covers the operation") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  Counter calls;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 300; ++i) engine.push([&calls] { calls.add(); }, {}, {});
  });
  engine.push([&recording] { recording.run(); }, {}, {});
  engine.wait_for_all();
  CHECK(calls.value() == 300);
}

TEST_CASE("what an operation of a run pushes stands behind the whole run") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  Log<int> log;
  const Recording recording = engine.record([&] {
    engine.push([&] { engine.push([&log] { log.add(2); }, {}, {x}); }, {}, {x});
    for (int i = 0; i < 3; ++i) engine.push([&log] { log.add(1); }, {}, {x});
  });
  recording.run();
  engine.wait_for_all();
  CHECK(log.entries() == std::vector<int>{1, 1, 1, 2});
}

TEST_CASE("a recorded operation leaves a record for each run") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(traced(options));
  const Var x = engine.new_variable();
  const Recording recording = engine.record([&] {
    engine.push([] {}, {}, {x}, {.name = "a"});
    engine.push([] {}, {}, {x}, {.name = "b"});
  });
  recording.run();
  recording.run();
  engine.wait_for_all();
  std::string names;
  for (const OpRecord& record : engine.trace()) {
    names += record.name;
    CHECK(record.pushed > 0);
    CHECK(record.pushed <= record.done);
  }
  CHECK(names == "abab");
}

}  // namespace
}  // namespace heddle
