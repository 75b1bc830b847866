#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/gate.h"
#include "tests/support/lanes.h"
#include "tests/support/watchdog.h"

// What the threads of several lanes do for each other.

namespace {

using heddle::Lane;
using heddle::support::kLanes;
using heddle::support::lane_of;

}  // namespace

TEST_CASE("operations of all lanes that need each other meet, whatever the threads did before") {
  constexpr int kWorkers = 2;
  constexpr int kMeetings = 200;
  constexpr int kOthers = static_cast<int>(kLanes.size()) - 1;
  heddle::Engine engine({.cpu_workers = kWorkers});
  const heddle::Var chain = engine.new_variable();
  std::atomic<int> met = 0;
  for (int meeting = 0; meeting < kMeetings; ++meeting) {
    for (int i = 0; i < 3 * meeting; ++i) {
      const bool in_chain = i % 3 != 0;
      engine.push([] {}, {}, in_chain ? std::vector{chain} : std::vector<heddle::Var>{},
                  {.lane = lane_of(i + meeting)});
    }
    std::latch all(kWorkers + kOthers);
    const auto meet = [&all, &met] {
      all.arrive_and_wait();
      ++met;
    };
    for (int i = 1; i < kWorkers; ++i) engine.push(meet, {}, {});
    for (int i = 0; i < 1 + kOthers; ++i) {
      engine.push(meet, {}, {}, {.lane = lane_of(i + meeting)});
    }
    all.wait();
    engine.wait_for_all();
  }
  CHECK(met == kMeetings * (kWorkers + kOthers));
}

TEST_CASE("a chain of small operations that goes from lane to lane seldom changes its thread") {
  constexpr int kLinks = 1000;
  heddle::Engine engine({.cpu_workers = 2});
  for (const Lane lane : kLanes) engine.push([] {}, {}, {}, {.lane = lane});
  engine.wait_for_all();
  const heddle::Var chain = engine.new_variable();
  heddle::support::HeldOperation first(engine, {}, {chain});
  first.wait_until_started();
  std::vector<std::thread::id> threads;
  for (int i = 0; i < kLinks; ++i) {
    engine.push([&threads] { threads.push_back(std::this_thread::get_id()); }, {}, {chain},
                {.lane = lane_of(i)});
  }
  heddle::support::Gate ended;
  engine.push([&ended] { ended.open(); }, {}, {chain});
  // The threads that these have woken sleep by then: else some of them run the first links.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  first.release();
  ended.wait();
  engine.wait_for_all();
  int changes = 0;
  for (std::size_t i = 1; i < threads.size(); ++i) changes += threads[i] == threads[i - 1] ? 0 : 1;
  CHECK(threads.size() == kLinks);
  CHECK(changes < kLinks / 4);
}

TEST_CASE("a long operation in one lane holds up none in the others, where all were small before") {
  heddle::Engine engine({.cpu_workers = 2});
  std::atomic<int> ran = 0;
  const auto push_some = [&](Lane but) {
    for (int i = 0; i < 400; ++i) {
      if (lane_of(i) == but) continue;
      engine.push([&ran] { ++ran; }, {}, {}, {.lane = lane_of(i)});
    }
  };
  constexpr int kPushed = 320;  // at a time
  for (int round = 0; round < 100; ++round) {
    const Lane held = kLanes[1 + static_cast<std::size_t>(round) % (kLanes.size() - 1)];
    push_some(held);
    heddle::support::Gate gate;
    engine.push([&gate] { gate.wait(); }, {}, {}, {.lane = held});
    push_some(held);
    while (ran.load() != 2 * kPushed * (round + 1)) std::this_thread::yield();
    gate.open();
    engine.wait_for_all();
  }
  CHECK(ran == 2 * kPushed * 100);
}

TEST_CASE("a lane is not forgotten while another one goes on with small operations for ever") {
  using Clock = std::chrono::steady_clock;
  heddle::Engine engine({.cpu_workers = 1, .max_pending = 64});
  std::atomic<bool> goes_on = true;
  std::thread other([&] {
    while (goes_on.load()) engine.push([] {}, {}, {});
  });
  const heddle::Var x = engine.new_variable();
  Clock::duration longest{};
  for (int i = 0; i < 5000; ++i) {
    heddle::support::watchdog::progress();
    const Clock::time_point begin = Clock::now();
    engine.push([] {}, {}, {x}, {.lane = Lane::kCopyIn});
    engine.wait_for_var(x);
    longest = std::max(longest, Clock::now() - begin);
  }
  goes_on = false;
  other.join();
  CHECK(longest < std::chrono::seconds(2));
}
