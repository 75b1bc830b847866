#include "tests/explore/forked_child.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/base/sync.h"
#include "engine/base/thread.h"
#include "tests/explore/engine_locals.h"
#include "tests/explore/scheduler.h"

// Children forked between two steps of a schedule.

namespace heddle::explore {
namespace {

using base::Mutex;
using base::Thread;

/// What run_in_child() says of `check` at each step of a schedule of `program`.
template <class Program, class Check>
std::vector<std::string> at_each_step(Program&& program, Check&& check) {
  std::vector<std::string> results;
  Scheduler scheduler;
  const std::uint64_t steps = scheduler.run(Plan{}, program).steps;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    scheduler.look_at(step, [&] { results.push_back(run_in_child(check)); });
    REQUIRE(scheduler.run(Plan{}, program).steps == steps);
  }
  return results;
}

TEST_CASE("a child is told apart by what it finds") {
  const std::vector<std::string> right = at_each_step(&base::yield, [] { return true; });
  const std::vector<std::string> wrong = at_each_step(&base::yield, [] { return false; });
  REQUIRE(!right.empty());
  CHECK(right.front().empty());
  CHECK(!wrong.front().empty());
}

TEST_CASE("a lock that is held where a child is forked stays held there") {
  Mutex mutex;
  const auto program = [&mutex] {
    Thread other = base::start_thread("holder", [&mutex] {
      const std::lock_guard lock(mutex);
      base::yield();
    });
    other.join();
  };
  std::size_t stuck = 0;
  const std::vector<std::string> results = at_each_step(program, [&mutex] {
    const std::lock_guard lock(mutex);
    return true;
  });
  for (const std::string& result : results) stuck += result.empty() ? 0 : 1;
  CHECK(stuck > 0);
  CHECK(stuck < results.size());
}

TEST_CASE("a child forked at any step of an engine's life is refused and leaves") {
  std::size_t forked = 0;
  Scheduler scheduler;
  keep_engine_locals(scheduler);
  const auto program = [] {
    Engine engine({.kind = EngineKind::kThreaded, .cpu_workers = 2});
    std::vector<Var> variables{engine.new_variable()};
    const Forkable forkable(engine, variables);
    for (int i = 0; i < 3; ++i) engine.push([] {}, {}, {variables[0]});
    engine.wait_for_all();
  };
  const std::uint64_t steps = scheduler.run(Plan{}, program).steps;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    scheduler.look_at(step, [&] {
      if (!Forkable::is_any()) return;
      ++forked;
      CHECK(Forkable::fork_here() == "");
    });
    REQUIRE(scheduler.run(Plan{}, program).stuck.empty());
  }
  CHECK(forked > steps / 4);
}

}  // namespace
}  // namespace heddle::explore
