#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "engine/tracker.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/lanes.h"

// What an operation of high priority waits for gets that priority, so that nothing between the two
// holds it up.

namespace heddle {
namespace {

using support::Counter;
using support::Gate;
using support::HeldOperation;
using support::kLanes;
using support::Log;

/// Pushes operations that say who they are, to a lane whose only worker is busy.
class Program {
 public:
  explicit Program(const EngineOptions& options, Lane lane = Lane::kCompute)
      : engine_(options), lane_(lane), held_(engine_, {}, {}, {.lane = lane}) {
    held_.wait_until_started();
  }

  Engine& engine() { return engine_; }
  Var variable() { return engine_.new_variable(); }
  void push(const std::string& name, VarList reads, VarList mutates, int priority = 0) {
    engine_.push([this, name] { log_.add(name); }, reads, mutates,
                 {.lane = lane_, .priority = priority});
  }
  std::vector<std::string> order() {
    held_.release();
    engine_.wait_for_all();
    return log_.entries();
  }

 private:
  Log<std::string> log_;
  Engine engine_;
  Lane lane_;
  HeldOperation held_;
};

using Names = std::vector<std::string>;

TEST_CASE("what an operation of higher priority waits for goes before what lies between") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  for (const Lane lane : kLanes) {
    CAPTURE(lane_name(lane));
    Program program(options, lane);
    const Var x = program.variable();
    program.push("first", {}, {});
    program.push("needed", {}, {x});
    program.push("between", {}, {}, 5);
    program.push("urgent", {x}, {}, 10);
    CHECK(program.order() == Names{"needed", "urgent", "between", "first"});
  }
}

TEST_CASE("a priority is passed on through operations that wait themselves") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  const Var y = program.variable();
  const Var z = program.variable();
  program.push("a", {}, {x});
  program.push("b", {x}, {y});
  program.push("c", {y}, {z});
  program.push("between", {}, {}, 5);
  program.push("urgent", {z}, {}, 10);
  CHECK(program.order() == Names{"a", "b", "c", "urgent", "between"});
}

TEST_CASE("the reads that a write of higher priority waits for go before what lies between") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  program.push("write", {}, {x});
  for (int i = 0; i < 3; ++i) program.push("read", {x}, {});
  program.push("between", {}, {}, 5);
  program.push("urgent", {}, {x}, 10);
  CHECK(program.order() == Names{"write", "read", "read", "read", "urgent", "between"});
}

TEST_CASE("a priority is passed on by operations of many variables") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  std::vector<Var> many(9);
  for (Var& var : many) var = program.variable();
  program.push("needed", {}, {many.back()});
  program.push("waits", many, {many.front()});
  program.push("between", {}, {}, 5);
  program.push("urgent", many, {}, 10);
  CHECK(program.order() == Names{"needed", "waits", "urgent", "between"});
}

TEST_CASE("the highest of several waiting operations counts") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  program.push("needed", {}, {x});
  program.push("between", {}, {}, 5);
  program.push("low", {x}, {}, 3);
  program.push("urgent", {x}, {}, 10);
  program.push("middle", {x}, {}, 7);
  CHECK(program.order() == Names{"needed", "urgent", "middle", "between", "low"});
}

TEST_CASE("a lower priority is not passed on") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  program.push("needed", {}, {x}, 3);
  program.push("between", {}, {}, 2);
  program.push("low", {x}, {}, 1);
  CHECK(program.order() == Names{"needed", "between", "low"});
}

/// Pushes `each` four times, which is worth a graph.
void push_four(Program& program, const std::string& each, VarList reads, VarList mutates) {
  for (int i = 0; i < 4; ++i) program.push(each, reads, mutates);
}

/// An operation that writes `x`, and lacks nothing but its completion: done() ends it and hands on
/// what waits for it, all on the calling thread.
class Incomplete {
 public:
  Incomplete(Engine& engine, const Var& x) {
    engine.push_async([this](RunContext&, Completion last) { completion_ = std::move(last); }, {},
                      {x}, {.lane = Lane::kBlocking});
    const Var next = engine.new_variable();  // of what the lane's worker runs when it has returned
    engine.push([] {}, {}, {next}, {.lane = Lane::kBlocking});
    engine.wait_for_var(next);
  }
  void done() { completion_->done(); }

 private:
  std::optional<Completion> completion_;
};

/// Four operations that write `x`, and four that have nothing to do with it.
Recording record_needed_and_rest(Program& program, const Var& x) {
  const Var y = program.variable();
  return program.engine().record([&] {
    push_four(program, "needed", {}, {x});
    push_four(program, "rest", {}, {y});
  });
}

TEST_CASE(
    "of a run of a recording what an urgent operation waits for goes before what lies between") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  record_needed_and_rest(program, x).run();
  program.push("between", {}, {}, 5);
  program.push("urgent", {x}, {}, 10);
  CHECK(program.order() == Names{"needed", "needed", "needed", "needed", "urgent", "between",
                                 "rest", "rest", "rest", "rest"});
}

TEST_CASE("a priority is passed on through runs of recordings that wait themselves") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  const Var y = program.variable();
  const Recording recording = program.engine().record([&] {
    push_four(program, "a", {}, {y});
    push_four(program, "b", {y}, {x});
  });
  program.push("needed", {}, {y});
  recording.run();
  program.push("between", {}, {}, 5);
  program.push("urgent", {x}, {}, 10);
  CHECK(program.order() ==
        Names{"needed", "a", "a", "a", "a", "b", "b", "b", "b", "urgent", "between"});
}

TEST_CASE("a run of a recording is raised for each that waits for it") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  const Var y = program.variable();
  const Recording recording = program.engine().record([&] {
    program.push("x", {}, {x});
    program.push("y", {}, {y});
    for (int i = 0; i < 2; ++i) program.push("x", {}, {x});
  });
  recording.run();
  program.push("between", {}, {}, 5);
  program.push("urgent y", {y}, {}, 10);
  program.push("urgent x", {x}, {}, 10);
  CHECK(program.order() == Names{"x", "y", "x", "x", "urgent y", "urgent x", "between"});
}

TEST_CASE("what becomes ready in a run goes first although another operation of it is queued") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  Incomplete before(program.engine(), x);
  record_needed_and_rest(program, x).run();
  program.push("between", {}, {}, 5);
  program.push("urgent", {x}, {}, 10);
  before.done();
  CHECK(program.order() == Names{"needed", "needed", "needed", "needed", "urgent", "between",
                                 "rest", "rest", "rest", "rest"});
}

TEST_CASE("what becomes ready in a run goes before what a worker has taken along") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  Incomplete before(program.engine(), x);
  program.engine().push([&before] { before.done(); }, {}, {}, {.priority = 5});
  for (int i = 0; i < 40; ++i) program.push("between", {}, {}, 5);
  record_needed_and_rest(program, x).run();
  program.push("urgent", {x}, {}, 10);
  const Names order = program.order();
  REQUIRE(order.size() == 49);
  CHECK(Names(order.begin(), order.begin() + 6) ==
        Names{"needed", "needed", "needed", "needed", "urgent", "between"});
}

TEST_CASE("of what becomes ready in a run each worker that comes back begins with the urgent") {
  EngineOptions options;
  options.kind = EngineKind::kThreaded;
  options.cpu_workers = 2;
  Log<std::string> log;
  Gate go;
  Counter rests;
  Counter needed;
  Gate has_two;
  Engine engine(options);
  const Var source = engine.new_variable();
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Incomplete before(engine, source);
  const auto need = [&] {
    log.add("needed");
    needed.add();
    has_two.wait();
  };
  const auto wait_to_go = [&] {
    rests.add();
    go.wait();
  };
  const std::vector<Var> others = {engine.new_variable(), engine.new_variable()};
  const Recording recording = engine.record([&] {
    engine.push(need, {source}, {x});
    engine.push(need, {source}, {y});
    for (const Var& rest : others) {
      for (int i = 0; i < 4; ++i) engine.push(wait_to_go, {}, {rest});
    }
  });
  recording.run();
  rests.wait_for(2);
  HeldOperation first(engine, {}, {}, {.priority = 5});
  HeldOperation second(engine, {}, {}, {.priority = 5});
  go.open();
  for (const HeldOperation* held : {&first, &second}) held->wait_until_started();
  for (int i = 0; i < 4; ++i) engine.push([&] { log.add("between"); }, {}, {}, {.priority = 5});
  engine.push([] {}, {x, y}, {}, {.priority = 10});
  before.done();
  first.release();
  needed.wait_for(1);
  second.release();
  while (log.entries().size() < 2) std::this_thread::yield();
  const Names entries = log.entries();
  CHECK(Names(entries.begin(), entries.begin() + 2) == Names{"needed", "needed"});
  has_two.open();
  engine.wait_for_all();
}

TEST_CASE("a priority is passed on from one run of a recording to the one before") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  const Var y = program.variable();
  const Var z = program.variable();
  const Recording recording = program.engine().record([&] {
    push_four(program, "x", {}, {x});
    push_four(program, "y", {}, {y});
    push_four(program, "rest", {}, {z});
  });
  recording.run();
  recording.run();
  program.push("between", {}, {}, 5);
  program.push("urgent", {y}, {}, 10);
  CHECK(program.order() == Names{"x",    "x",    "x",      "x",       "y",    "y",    "y",
                                 "y",    "x",    "x",      "x",       "x",    "y",    "y",
                                 "y",    "y",    "urgent", "between", "rest", "rest", "rest",
                                 "rest", "rest", "rest",   "rest",    "rest"});
}

TEST_CASE("an urgent run of a recording passes its priority on") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  const Recording recording = program.engine().record([&] {
    for (int i = 0; i < 4; ++i) program.push("urgent", {}, {x}, 10);
  });
  program.push("needed", {}, {x});
  program.push("between", {}, {}, 5);
  recording.run();
  CHECK(program.order() == Names{"needed", "urgent", "urgent", "urgent", "urgent", "between"});
}

TEST_CASE("deleting a variable makes none of its operations more urgent") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Program program(options);
  const Var x = program.variable();
  program.push("needed", {}, {x});
  program.push("between", {}, {}, 5);
  program.engine().delete_variable(x);
  CHECK(program.order() == Names{"between", "needed"});
}

/// The order in which a worker runs many operations, of which some raise one that it has taken
/// along.
std::vector<int> order_of_raised(Engine& engine, int operations) {
  Log<int> log;
  HeldOperation held(engine, {}, {});
  held.wait_until_started();
  std::deque<Var> vars;
  for (int i = 0; i < operations; ++i) {
    vars.push_back(engine.new_variable());
    engine.push(
        [&, i] {
          log.add(i);
          // Of the one after the next, which has been taken along unless it is the last.
          const std::size_t later = static_cast<std::size_t>(i) + 2;
          if (i % 10 != 5 || later >= vars.size()) return;
          engine.push([&log] { log.add(-1); }, {vars[later]}, {}, {.priority = 1});
        },
        {}, {vars.back()});
  }
  held.release();
  engine.wait_for_all();
  return log.entries();
}

std::vector<int> expected_of_raised(int operations) {
  std::vector<int> expected;
  for (int i = 0; i < operations; ++i) {
    expected.push_back(i);
    if (i % 10 != 5 || i + 2 >= operations) continue;
    expected.insert(expected.end(), {i + 2, -1, i + 1});
    i += 2;
  }
  return expected;
}

TEST_CASE("what a worker has taken along is raised, too") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  CHECK(order_of_raised(engine, 200) == expected_of_raised(200));
}

TEST_CASE("what is raised keeps its place while another thread takes note of what has ended") {
  HEDDLE_FOR_EACH(options, one_worker_engines);
  Engine engine(options);
  std::atomic<bool> goes_on = true;
  std::thread other([&, x = engine.new_variable()] {
    while (goes_on.load()) engine.version(x);
  });
  for (int round = 0; round < 100; ++round) {
    CHECK(order_of_raised(engine, 200) == expected_of_raised(200));
  }
  goes_on = false;
  other.join();
}

/// Where what only the last operation of a chain waits for stands beside operations between the two
/// in priority: true if all of the chain has been raised.
bool raises_chain(Program& program, std::uint64_t count) {
  const Var x = program.variable();
  program.push("first", {}, {x});
  for (std::uint64_t i = 1; i < count; ++i) program.push("chain", {}, {x});
  program.push("between", {}, {}, 5);
  program.push("urgent", {x}, {}, 10);
  const Names order = program.order();
  const auto of = [&order](const char* name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  return of("first") < of("between");
}

TEST_CASE("a push raises no more operations than there is credit for") {
  using detail::Tracker;
  constexpr std::uint64_t kRaised = Tracker::kMaxCredit;  // as many as can be saved
  for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{1}}) {
    Program program({.kind = EngineKind::kThreaded, .cpu_workers = 1, .max_pending = 2 * kRaised});
    CHECK(raises_chain(program, kRaised + more) == (more == 0));
  }
}

TEST_CASE("a long chain of rising priorities is pushed and runs in its order") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  constexpr int kOperations = 20'000;
  const Var x = engine.new_variable();
  Log<int> log;
  HeldOperation held(engine, {}, {x});
  for (int i = 0; i < kOperations; ++i) {
    engine.push([&log, i] { log.add(i); }, {}, {x}, {.priority = i});
  }
  held.release();
  engine.wait_for_all();
  std::vector<int> expected(kOperations);
  for (int i = 0; i < kOperations; ++i) expected[static_cast<std::size_t>(i)] = i;
  CHECK(log.entries() == expected);
}

}  // namespace
}  // namespace heddle
