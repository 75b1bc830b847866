#include "engine/wake_placement.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "heddle/heddle.h"

#include "tests/support/cpu_set.h"
#include "tests/support/scale.h"

namespace heddle::detail {
namespace {

using support::cpus_of_thread;
using support::FewerCpus;
using support::OnCpus;
using support::pin_thread;

TEST_CASE("no CPU is avoided until a thread has been put beside the one that woke it") {
  const FewerCpus one(1);
  WakePlacement placement;
  CHECK(placement.avoided_cpu() == -1);
  placement.begin_wake();
  CHECK(placement.avoided_cpu() == -1);
  placement.end_wake();
  CHECK(placement.avoided_cpu() == base::current_cpu());
}

TEST_CASE("a thread that no push has woken says nothing of where the system puts threads") {
  const FewerCpus one(1);
  WakePlacement placement;
  placement.end_wake();
  CHECK(placement.avoided_cpu() == -1);
}

TEST_CASE("a thread that is put on another CPU than the one that woke it has none avoided") {
  const std::vector<std::size_t> cpus = cpus_of_thread();
  if (cpus.size() < 2) return;
  WakePlacement placement;
  {
    const OnCpus here(std::vector{cpus[0]});
    placement.begin_wake();
  }
  const OnCpus elsewhere(std::vector{cpus[1]});
  placement.end_wake();
  CHECK(placement.avoided_cpu() == -1);
}

TEST_CASE("the CPU that is avoided is the one that something was pushed on last") {
  const std::vector<std::size_t> cpus = cpus_of_thread();
  if (cpus.size() < 2) return;
  WakePlacement placement;
  {
    const OnCpus first(std::vector{cpus[0]});
    placement.begin_wake();
    placement.end_wake();
  }
  const OnCpus second(std::vector{cpus[1]});
  placement.begin_wake();
  CHECK(placement.avoided_cpu() == static_cast<int>(cpus[1]));
}

/// Has the only worker of an engine run tiny operations, then `last`, and then sleep.
template <class Last>
void run_and_sleep(Engine& engine, Last&& last) {
  constexpr int kTiny = 500;
  std::atomic<bool> is_over = false;
  for (int i = 0; i < kTiny; ++i) engine.push([] {}, {}, {});
  engine.push(
      [&] {
        last();
        is_over = true;
      },
      {}, {});
  // Not by the engine: who waits might run the operations.
  while (!is_over) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST_CASE("a worker that was put behind who pushes keeps off that CPU while it sleeps, no longer") {
#ifndef NDEBUG
  return;  // operations that are checked, or not optimized, do not count as tiny
#endif
  const std::vector<std::size_t> all = cpus_of_thread();
  if (support::kScale != 1 || all.size() < 2) return;
  const std::vector<std::size_t> others(all.begin() + 1, all.end());
  Engine engine({.cpu_workers = 1});
  const OnCpus pusher_on_first(std::vector{all.front()});
  pid_t worker = 0;
  std::vector<std::size_t> running_on;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool has_kept_off = false;
  while (!has_kept_off && std::chrono::steady_clock::now() < end) {
    run_and_sleep(engine, [&] { pin_thread(std::vector{all.front()}); });
    run_and_sleep(engine, [&] { pin_thread(all); });  // woken beside the pusher
    run_and_sleep(engine, [&] {
      worker = gettid();
      running_on = cpus_of_thread();
    });
    CHECK(running_on == all);
    const std::vector<std::size_t> asleep_on = cpus_of_thread(worker);
    REQUIRE_FALSE(asleep_on.empty());
    has_kept_off = asleep_on == others;
  }
  CHECK(has_kept_off);
  run_and_sleep(engine, [&] { running_on = cpus_of_thread(); });
  CHECK(running_on == all);
}

}  // namespace
}  // namespace heddle::detail
