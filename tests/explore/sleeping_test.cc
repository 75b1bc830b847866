#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "engine/base/thread.h"
#include "tests/explore/engine_locals.h"
#include "tests/explore/scheduler.h"

// When workers are woken, and when they go to sleep: a scheduler sees both. There are two CPUs, as
// far as engines know here.

namespace heddle::explore {
namespace {

EngineOptions workers(int count) {
  return {.kind = EngineKind::kThreaded, .cpu_workers = count, .watchdog = {}};
}

/// Until all threads but the program's sleep, which are the workers of the one engine there is. The
/// program sleeps meanwhile: to yield would put it behind them.
void wait_until_asleep(Scheduler& scheduler, int count) {
  constexpr Scheduler::Nanoseconds kNap = 500;
  const auto all_sleep = [&] {
    for (int worker = 1; worker <= count; ++worker) {
      if (!scheduler.is_blocked(static_cast<std::size_t>(worker))) return false;
    }
    return true;
  };
  while (!all_sleep()) scheduler.block(&kNap, scheduler.now() + kNap);
}

TEST_CASE("a batch of pushes wakes one sleeping worker, once") {
  const int count = GENERATE(1, 2, 3);
  constexpr int kPushes = 50;
  int alone = 0;  // schedules in which no worker ran before the last push
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Scheduler scheduler;
    keep_engine_locals(scheduler);
    std::uint64_t woken = 0;
    int ran = 0;
    int ran_meanwhile = 0;
    const Schedule schedule = scheduler.run({.seed = seed, .depth = 1}, [&] {
      Engine engine(workers(count));
      engine.push([] {}, {}, {});
      engine.wait_for_all();
      wait_until_asleep(scheduler, count);
      base::Thread pusher = base::start_thread("pusher", [&] {
        const std::uint64_t before = scheduler.woken();
        for (int i = 0; i < kPushes; ++i) engine.push([&ran] { ++ran; }, {}, {});
        woken = scheduler.woken() - before;
        ran_meanwhile = ran;
      });
      pusher.join();
      engine.wait_for_all();
    });
    REQUIRE(schedule.stuck == "");
    CHECK(ran == kPushes);
    if (ran_meanwhile != 0) continue;
    ++alone;
    CHECK(woken == 1);
  }
  CHECK(alone > 5);
}

/// The shortest time, in the scheduler's, from the last operation until all workers sleep.
Scheduler::Nanoseconds time_until_asleep(int count) {
  Scheduler::Nanoseconds shortest = Scheduler::kForEver;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Scheduler scheduler;
    keep_engine_locals(scheduler);
    const Schedule schedule = scheduler.run({.seed = seed, .depth = 1}, [&] {
      Engine engine(workers(count));
      Scheduler::Nanoseconds last = 0;
      for (int i = 0; i < 10; ++i) engine.push([&] { last = scheduler.now(); }, {}, {});
      wait_until_asleep(scheduler, count);
      shortest = std::min(shortest, scheduler.now() - last);
    });
    REQUIRE(schedule.stuck == "");
  }
  return shortest;
}

TEST_CASE("workers look for work for a moment before they sleep, unless they are more than CPUs") {
  CHECK(time_until_asleep(2) >= 20'000);
  CHECK(time_until_asleep(3) < 5'000);
}

}  // namespace
}  // namespace heddle::explore
