#include <chrono>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/foreign_thread.h"
#include "tests/support/gate.h"
#include "tests/support/standard_error.h"

// When nothing ends any more the watchdog says, once, what runs and who waits for whom.

namespace heddle {
namespace {

using support::Gate;
using support::HeldOperation;
using support::StandardError;

/// Long enough that a busy machine does not delay a thread so much.
constexpr std::chrono::milliseconds kLimit{500};

/// An engine with a watchdog that is soon alarmed.
EngineOptions watched(EngineOptions options) {
  options.watchdog = kLimit;
  return options;
}

/// A callable of push_async that gives its Completion away.
auto hand_out(std::optional<Completion>& to, Gate& kept) {
  return [&to, &kept](RunContext&, Completion given) {
    to.emplace(std::move(given));
    kept.open();
  };
}

TEST_CASE("the watchdog names what runs and who waits for it") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(watched(options));
  const Var x = engine.new_variable("x");
  std::string text;
  {
    const StandardError captured;
    HeldOperation held(engine, {}, {x}, {.name = "stuck"});
    engine.push([] {}, {x}, {}, {.name = "reader"});
    text = captured.wait();
    held.release();
    engine.wait_for_all();
  }
  CHECK_THAT(text, Catch::Contains("nothing has ended for"));
  CHECK_THAT(text, Catch::Contains("2 operations are pending"));
  CHECK_THAT(text, Catch::Contains("#1 'stuck' on cpu(0), lane compute: runs, for at least"));
  CHECK_THAT(text, Catch::Contains(
                       "#2 'reader' on cpu(0), lane compute: waits for #1 'stuck' (variable 'x')"));
}

TEST_CASE("the watchdog names first what runs and then the oldest of those that wait") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(watched(options));
  const Var x = engine.new_variable("x");
  std::string text;
  {
    const StandardError captured;
    HeldOperation held(engine, {}, {x});
    held.wait_until_started();
    for (int i = 0; i < 100; ++i) engine.push([] {}, {x}, {});
    text = captured.wait();
    held.release();
    engine.wait_for_all();
  }
  std::vector<std::string> named;
  const std::regex line("  (#[0-9]+) on [^:]*: ([a-z]+)|  and ([0-9]+) more");
  for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match) {
    named.push_back((*match)[3].str() + (*match)[1].str() + " " + (*match)[2].str());
  }
  REQUIRE(named.size() == 33);
  CHECK(named[0] == "#1 runs");
  CHECK(named[1] == "#2 waits");
  CHECK(named[31] == "#32 waits");
  CHECK(named[32] == "69 ");
}

/// Eight operations, the first of which waits for `gate`.
Recording record_behind(Engine& engine, const Var& x, const Gate& gate) {
  return engine.record([&] {
    engine.push([&gate] { gate.wait(); }, {}, {x}, {.name = "inner"});
    for (int i = 0; i < 7; ++i) engine.push([] {}, {}, {x});
  });
}

TEST_CASE("the watchdog names what runs in the run of a recording") {
  Engine engine(watched({.kind = EngineKind::kThreaded, .cpu_workers = 1}));
  const Var x = engine.new_variable("x");
  std::string text;
  {
    const StandardError captured;
    Gate gate;
    record_behind(engine, x, gate).run();
    text = captured.wait();
    gate.open();
    engine.wait_for_all();
  }
  CHECK_THAT(text, Catch::Contains("part of a run of 8 recorded operations, of which 0 have ended; "
                                   "#1 'inner' runs, for at least"));
}

TEST_CASE("the watchdog does not say that a recorded operation in a queue runs") {
  Engine engine(watched({.kind = EngineKind::kThreaded, .cpu_workers = 1}));
  const Var x = engine.new_variable("x");
  std::string text;
  {
    const StandardError captured;
    Gate gate;
    gate.open();
    HeldOperation held(engine, {}, {}, {.name = "stuck"});
    held.wait_until_started();
    record_behind(engine, x, gate).run();
    text = captured.wait();
    held.release();
    engine.wait_for_all();
  }
  CHECK_THAT(text, Catch::Contains("#1 'stuck' on cpu(0), lane compute: runs, for at least"));
  CHECK_THAT(text, Catch::Contains("part of a run of 8 recorded operations"));
  CHECK_THAT(text, !Catch::Contains("'inner' runs"));
}

TEST_CASE("the watchdog reports a stall once, and the next one again") {
  Engine engine(watched({}));
  std::string text;
  {
    const StandardError captured;
    for (const char* const name : {"first", "second"}) {
      HeldOperation held(engine, {}, {}, {.name = name});
      while (captured.text().find(name) == std::string::npos) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(2 * kLimit);
      held.release();
      engine.wait_for_all();
    }
    text = captured.text();
  }
  std::size_t reports = 0;
  for (std::size_t at = text.find("nothing has ended"); at != std::string::npos;
       at = text.find("nothing has ended", at + 1)) {
    ++reports;
  }
  CHECK(reports == 2);
}

TEST_CASE("the watchdog says that a Completion is owed") {
  Engine engine(watched({}));
  std::string text;
  {
    const StandardError captured;
    std::optional<Completion> completion;
    Gate kept;
    engine.push_async(hand_out(completion, kept), {}, {}, {.name = "owing"});
    kept.wait();
    text = captured.wait();
    completion->done();
    engine.wait_for_all();
  }
  CHECK_THAT(text, Catch::Contains("'owing' on cpu(0), lane compute: its Completion has not been"));
}

TEST_CASE("the naive engine says that its push waits for a Completion of another thread") {
  Engine engine(watched({.kind = EngineKind::kNaive}));
  std::string text;
  {
    const StandardError captured;
    std::optional<Completion> completion;
    Gate kept;
    support::ForeignThread pusher;
    pusher.post([&] { engine.push_async(hand_out(completion, kept), {}, {}, {.name = "owing"}); });
    kept.wait();
    captured.wait();
    std::this_thread::sleep_for(2 * kLimit);
    text = captured.text();
    completion->done();
  }
  CHECK_THAT(text, Catch::Contains("for the Completion of #1 'owing' on cpu(0)"));
  CHECK(text.find("heddle:") == text.rfind("heddle:"));
}

TEST_CASE("the explore engine says what is pending when a wait finds nothing to run") {
  HEDDLE_FOR_EACH(options, explore_engines);
  Engine engine(watched(options));
  const Var x = engine.new_variable("x");
  std::string text;
  {
    const StandardError captured;
    std::optional<Completion> completion;
    Gate kept;
    engine.push_async(hand_out(completion, kept), {}, {x}, {.name = "owing"});
    for (const char* name : {"first", "second"}) engine.push([] {}, {x}, {}, {.name = name});
    support::ForeignThread waiter;
    waiter.post([&] { engine.wait_for_all(); });
    kept.wait();
    captured.wait();
    std::this_thread::sleep_for(2 * kLimit);
    text = captured.text();
    completion->done();
    engine.wait_for_all();
  }
  CHECK_THAT(text, Catch::Contains("3 operations are pending"));
  CHECK_THAT(text, Catch::Contains(
                       "#1 'owing' on cpu(0), lane compute: its Completion has not been used"));
  CHECK_THAT(text, Catch::Contains(
                       "#3 'second' on cpu(0), lane compute: waits for #1 'owing' (variable 'x')"));
  CHECK(text.find("heddle:") == text.rfind("heddle:"));
}

TEST_CASE("an engine that gets on, or has nothing to do, hears nothing of its watchdog") {
  Engine engine(watched({}));
  const StandardError captured;
  const auto end = std::chrono::steady_clock::now() + 4 * kLimit;
  while (std::chrono::steady_clock::now() < end) {
    engine.push([] { std::this_thread::sleep_for(kLimit / 8); }, {}, {});
    engine.wait_for_all();
  }
  std::this_thread::sleep_for(3 * kLimit);
  CHECK(captured.text().empty());
}

}  // namespace
}  // namespace heddle
