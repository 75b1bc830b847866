#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

#include "tests/support/gate.h"

// What the workers of one lane promise each other.

TEST_CASE("operations that need each other meet among tiny ones, where workers nap") {
  const int workers = GENERATE(2, 3);
  CAPTURE(workers);
  heddle::Engine engine({.cpu_workers = workers});
  std::atomic<int> ran = 0;
  constexpr int kMeetings = 100;
  constexpr int kTiny = 300;
  for (int meeting = 0; meeting < kMeetings; ++meeting) {
    for (int i = 0; i < kTiny; ++i) engine.push([&ran] { ++ran; }, {}, {});
    std::binary_semaphore one(0);
    std::binary_semaphore other(0);
    const auto meet = [](std::binary_semaphore& mine, std::binary_semaphore& theirs) {
      theirs.release();
      mine.acquire();
    };
    engine.push([&] { meet(one, other); }, {}, {});
    engine.push([&] { meet(other, one); }, {}, {});
    engine.wait_for_all();
  }
  CHECK(ran == kMeetings * kTiny);
}

TEST_CASE("what a worker has taken along with something long goes to those that are never idle") {
  constexpr int kAlong = 63;
  heddle::Engine engine({.cpu_workers = 2});
  const heddle::Var x = engine.new_variable();
  std::atomic<int> ran = 0;
  bool were_in_time = false;
  std::atomic<bool> is_over = false;
  engine.push([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }, {}, {x});
  engine.push(
      [&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (ran != kAlong && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        were_in_time = ran == kAlong;
        is_over = true;
      },
      {x}, {});
  for (int i = 0; i < kAlong; ++i) engine.push([&ran] { ++ran; }, {x}, {});
  const auto busy_for = [](std::chrono::nanoseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  // More than one worker can do, so that the other one always finds something in the queue, which
  // what has a name goes to at once.
  while (!is_over) {
    engine.push([&] { busy_for(std::chrono::microseconds(2)); }, {}, {}, {.name = "busy"});
  }
  engine.wait_for_all();
  CHECK(were_in_time);
}

TEST_CASE("what an operation makes ready does not wait for a chain that was pushed later") {
  heddle::Engine engine({.cpu_workers = 2});
  const heddle::Var x = engine.new_variable();
  const heddle::Var link = engine.new_variable();
  heddle::support::HeldOperation beside(engine, {}, {});
  heddle::support::HeldOperation before(engine, {}, {x});
  beside.wait_until_started();
  before.wait_until_started();

  constexpr int kLinks = 50;
  std::atomic<int> links = 0;
  std::atomic<int> links_before = 0;
  heddle::support::Gate ran;
  engine.push(
      [&] {
        links_before = links.load();
        ran.open();
      },
      {x}, {});
  for (int i = 0; i < kLinks; ++i) {
    engine.push(
        [&links] {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          ++links;
        },
        {}, {link});
  }
  before.release();
  ran.wait();
  beside.release();
  engine.wait_for_all();
  CHECK(links_before < kLinks / 2);
}
