#include "tests/explore/scheduler.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/base/sync.h"
#include "engine/base/thread.h"

// The scheduler that draws the schedules of tests/explore, on programs of which it is known what
// may go wrong.

namespace heddle::explore {
namespace {

using base::Atomic;
using base::ConditionVariable;
using base::Mutex;
using base::Thread;

constexpr std::uint64_t kSchedules = 2000;

Plan plan(std::uint64_t seed, int depth = 3) { return {.seed = seed, .depth = depth, .steps = 20}; }

/// In how many of the schedules `program` returns true.
template <class Program>
std::uint64_t count(Program&& program, int depth = 3) {
  Scheduler scheduler;
  std::uint64_t count = 0;
  for (std::uint64_t seed = 1; seed <= kSchedules; ++seed) {
    bool outcome = false;
    const Schedule schedule = scheduler.run(plan(seed, depth), [&] { outcome = program(); });
    REQUIRE(schedule.stuck.empty());
    count += outcome ? 1 : 0;
  }
  return count;
}

/// Of the first schedule that gets stuck; "" if none does. Its fibers stay where they are.
template <class Program>
std::string first_stuck(Program program) {
  auto& scheduler = *new Scheduler;
  for (std::uint64_t seed = 1; seed <= kSchedules; ++seed) {
    const Schedule schedule = scheduler.run(plan(seed), program);
    if (!schedule.stuck.empty()) return schedule.stuck;
  }
  return {};
}

bool loses_an_increment() {
  Atomic<int> value{0};
  const auto increment = [&value] { value.store(value.load() + 1); };
  Thread other = base::start_thread("other", increment);
  increment();
  other.join();
  return value.load() != 2;
}

TEST_CASE("a read and a write with another thread's between them are found, and the other order") {
  const std::uint64_t lost = count(&loses_an_increment);
  CHECK(lost > 0);
  CHECK(lost < kSchedules);
}

TEST_CASE("without a change of priorities a thread is never interrupted") {
  CHECK(count(&loses_an_increment, /*depth=*/1) == 0);
}

TEST_CASE("what a mutex guards is not torn") {
  CHECK(count([] {
          Mutex mutex;
          Atomic<int> value{0};
          const auto increment = [&] {
            const std::lock_guard lock(mutex);
            value.store(value.load() + 1);
          };
          Thread other = base::start_thread("other", increment);
          increment();
          other.join();
          return value.load() != 2;
        }) == 0);
}

TEST_CASE("a wake-up that comes before the sleep is found to be lost") {
  const std::string stuck = first_stuck([] {
    Mutex mutex;
    ConditionVariable changed;
    Atomic<bool> set{false};
    Thread other = base::start_thread("sleeper", [&] {
      if (set.load()) return;
      std::unique_lock lock(mutex);
      changed.wait(lock);
    });
    set.store(true);
    changed.notify_all();
    other.join();
  });
  CHECK(stuck.find("nobody can go on") != std::string::npos);
  CHECK(stuck.find("sleeper waits") != std::string::npos);
}

TEST_CASE("two locks in two orders are found to block for ever") {
  CHECK(first_stuck([] {
          Mutex a;
          Mutex b;
          Thread other = base::start_thread("other", [&] {
            const std::scoped_lock both(b);
            a.lock();
            a.unlock();
          });
          a.lock();
          b.lock();
          b.unlock();
          a.unlock();
          other.join();
        }) != "");
}

TEST_CASE("a thread that goes round for ever is found") {
  const std::string stuck = first_stuck([] {
    const Atomic<bool> never{false};
    while (!never.load()) base::cpu_relax();
  });
  CHECK(stuck.find("no end in sight") != std::string::npos);
}

TEST_CASE("who waits for a value sleeps until it is another one") {
  CHECK(count([] {
          Atomic<int> value{0};
          Thread other = base::start_thread("other", [&value] {
            value.store(1);
            value.notify_one();
          });
          value.wait(0);
          const bool early = value.load() == 0;
          other.join();
          return early;
        }) == 0);
}

TEST_CASE("threads that sleep wake in the order of their times") {
  CHECK(count([] {
          Atomic<int> woken{0};
          int first = 0;
          int second = 0;
          Thread slow = base::start_thread("slow", [&] {
            base::sleep_for(std::chrono::milliseconds(2));
            second = woken.fetch_add(1);
          });
          Thread quick = base::start_thread("quick", [&] {
            base::sleep_for(std::chrono::milliseconds(1));
            first = woken.fetch_add(1);
          });
          slow.join();
          quick.join();
          return first != 0 || second != 1;
        }) == 0);
}

TEST_CASE("a wait with a deadline ends at it") {
  CHECK(count([] {
          Mutex mutex;
          ConditionVariable never;
          const base::Clock::time_point begin = base::Clock::now();
          std::unique_lock lock(mutex);
          const bool ended = never.wait_for(lock, std::chrono::seconds(5), [] { return false; });
          return ended || base::Clock::now() - begin < std::chrono::seconds(5);
        }) == 0);
}

/// True if what is caught is thrown again where another thread may have thrown and caught since.
bool throws_the_same_again(int number) {
  Atomic<int> step{0};
  try {
    try {
      throw number;
    } catch (int) {
      step.store(1);
      throw;
    }
  } catch (int again) {
    return again == number;
  }
}

TEST_CASE("exceptions of threads that are interrupted do not mix") {
  CHECK(count([] {
          bool right = false;
          Thread other = base::start_thread("other", [&] { right = throws_the_same_again(1); });
          const bool mine = throws_the_same_again(2);
          other.join();
          return !right || !mine;
        }) == 0);
}

TEST_CASE("priorities change within the steps that a plan gives the program") {
  constexpr int kLoads = 1000;
  const auto others_came_late = [](std::uint64_t steps) {
    Scheduler scheduler;
    std::uint64_t late = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const Plan drawn{.seed = seed, .depth = 2, .steps = steps};
      scheduler.run(drawn, [&late] {
        Atomic<int> loads{0};
        int found = 0;
        Thread other = base::start_thread("other", [&] { found = loads.load(); });
        for (int i = 0; i < kLoads; ++i) loads.fetch_add(1);
        other.join();
        late += found > kLoads / 2 && found < kLoads ? 1 : 0;
      });
    }
    return late;
  };
  CHECK(others_came_late(100) == 0);
  CHECK(others_came_late(kLoads) > 20);
}

TEST_CASE("a look at a step sees what the threads have done before it, and changes nothing") {
  Scheduler scheduler;
  int count = 0;
  const auto program = [&count] {
    count = 0;
    for (int i = 0; i < 10; ++i) {
      base::step();
      ++count;
    }
  };
  int seen = -1;
  scheduler.look_at(4, [&] { seen = count; });
  CHECK(scheduler.run(plan(1), program).steps == 10);
  CHECK(seen == 3);
  seen = -1;
  CHECK(scheduler.run(plan(1), program).steps == 10);
  CHECK(seen == -1);
}

TEST_CASE("a thread that a look wakes goes first") {
  Scheduler scheduler;
  const int bell = 0;
  int count = 0;
  int seen = -1;
  const auto program = [&] {
    base::Thread waiter = base::start_thread("waiter", [&] {
      scheduler.block(&bell);
      base::step();
      seen = count;
    });
    while (!waiter.is_blocked()) base::yield();
    for (; count < 10; ++count) base::step();
    scheduler.wake_all(&bell);
    waiter.join();
  };
  const Plan plan{.seed = 3, .depth = 1};
  const std::uint64_t steps = scheduler.run(plan, program).steps;
  CHECK(seen == 10);
  for (std::uint64_t step = steps - 8; step != steps - 3; ++step) {
    count = 0;
    int count_then = -1;
    scheduler.look_at(step, [&] {
      count_then = count;
      scheduler.wake_first(&bell);
    });
    CHECK(scheduler.run(plan, program).stuck.empty());
    CHECK(seen == count_then);
    CHECK(seen < 10);
  }
}

TEST_CASE("a schedule runs within a step of another one") {
  Scheduler outer;
  Scheduler inner;
  Schedule within;
  outer.look_at(3, [&] { within = inner.run(plan(1), [] { loses_an_increment(); }); });
  const Schedule alone = outer.run(plan(2), [] { loses_an_increment(); });
  CHECK(within.stuck.empty());
  CHECK(within.steps > 0);
  const Schedule again = outer.run(plan(2), [] { loses_an_increment(); });
  CHECK(alone.steps == again.steps);
  CHECK(alone.switches == again.switches);
}

TEST_CASE("the same plan gives the same schedule") {
  Scheduler scheduler;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto run = [&] { return scheduler.run(plan(seed), [] { loses_an_increment(); }); };
    const Schedule first = run();
    const Schedule second = run();
    CHECK(first.steps == second.steps);
    CHECK(first.switches == second.switches);
  }
}

}  // namespace
}  // namespace heddle::explore
