#include "engine/generations.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using heddle::detail::Generation;
using heddle::detail::Generations;
using heddle::detail::Waiter;

/// A wait_for_all() that looks instead of blocking.
class Wait {
 public:
  explicit Wait(Generations& generations)
      : generations_(generations), registered_(generations.begin_wait(waiter_)) {}
  ~Wait() {
    if (registered_) generations_.end_wait();
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  bool over() const { return !registered_ || waiter_.woken(); }

 private:
  Generations& generations_;
  Waiter waiter_;
  bool registered_;
};

Generation& add(Generations& generations) {
  Generation& generation = generations.newest();
  Generations::add(generation);
  return generation;
}

}  // namespace

TEST_CASE("A wait while nothing is pending is over at once") {
  Generations generations;
  CHECK(Wait(generations).over());
  generations.end(add(generations));
  CHECK(Wait(generations).over());
}

TEST_CASE("A wait is over with the last operation that it covers") {
  Generations generations;
  Generation& covered = add(generations);
  add(generations);
  const Wait wait(generations);
  generations.end(covered);
  CHECK_FALSE(wait.over());
  generations.end(covered);
  CHECK(wait.over());
}

TEST_CASE("Operations pushed after a wait began do not prolong it") {
  Generations generations;
  Generation& covered = add(generations);
  const Wait wait(generations);
  add(generations);
  generations.end(covered);
  CHECK(wait.over());
}

TEST_CASE("Operations pushed by covered ones prolong the wait") {
  Generations generations;
  Generation& covered = add(generations);
  const Wait wait(generations);
  Generations::add(covered);  // a child, pushed before its parent ends
  generations.end(covered);
  CHECK_FALSE(wait.over());
  generations.end(covered);
  CHECK(wait.over());
}

TEST_CASE("A later wait ends with or after an earlier one") {
  Generations generations;
  Generation& first = add(generations);
  const Wait earlier(generations);
  Generation& second = add(generations);
  const Wait later(generations);
  generations.end(second);
  CHECK_FALSE(earlier.over());
  CHECK_FALSE(later.over());
  generations.end(first);
  CHECK(earlier.over());
  CHECK(later.over());
}

TEST_CASE("Stopping ends every wait") {
  Generations generations;
  add(generations);
  const Wait wait(generations);
  generations.stop();
  CHECK(wait.over());
}

TEST_CASE("No wait misses its end while threads end operations") {
  constexpr int kRounds = 300;
  constexpr int kThreads = 3;
  constexpr int kOperations = 40;
  Generations generations;
  for (int round = 0; round < kRounds; ++round) {
    Generation* generation = nullptr;
    for (int i = 0; i < kThreads * kOperations; ++i) generation = &add(generations);
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        while (!go) {
        }
        for (int i = 0; i < kOperations; ++i) generations.end(*generation);
      });
    }
    go = true;
    Waiter waiter;
    if (generations.begin_wait(waiter)) {
      CHECK(waiter.wait() == Waiter::State::kDone);
      generations.end_wait();
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(Wait(generations).over());
  }
}
