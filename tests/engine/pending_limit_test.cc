#include "engine/pending_limit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"

namespace {

using heddle::detail::PendingLimit;
using Clock = std::chrono::steady_clock;

/// A limit with the lock that its owner has.
class Owner {
 public:
  explicit Owner(std::size_t limit) : limit_(limit) {}

  PendingLimit& limit() { return limit_; }
  bool try_take() {
    const std::lock_guard lock(mutex_);
    if (!limit_.has_room()) return false;
    limit_.take();
    return true;
  }
  void give_back() {
    bool tells = false;
    {
      const std::lock_guard lock(mutex_);
      limit_.give_back();
      tells = limit_.worth_telling();
    }
    if (tells) limit_.tell();
  }
  std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return limit_.pending();
  }
  bool wait_until_empty(Clock::time_point deadline) {
    return limit_.wait_until_empty(deadline, [this] { return pending(); });
  }

 private:
  std::mutex mutex_;
  PendingLimit limit_;
};

}  // namespace

TEST_CASE("blocked pushers never exceed the pending limit and all get in") {
  constexpr std::size_t kLimit = 3;
  constexpr int kPushers = 6;
  constexpr int kRounds = 500;
  Owner owner(kLimit);
  std::atomic<std::size_t> inside{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> pushers;
  for (int i = 0; i < kPushers; ++i) {
    pushers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        owner.limit().wait_for_room([&] { return owner.try_take(); });
        if (inside.fetch_add(1) >= kLimit) exceeded = true;
        inside.fetch_sub(1);
        owner.give_back();
      }
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  CHECK_FALSE(exceeded);
  CHECK(owner.pending() == 0);
}

TEST_CASE("blocked pushers are admitted in the order in which they came") {
  constexpr std::size_t kPushers = 4;
  Owner owner(1);
  REQUIRE(owner.try_take());
  std::mutex mutex;
  std::vector<std::size_t> order;
  std::vector<std::thread> pushers;
  for (std::size_t i = 0; i < kPushers; ++i) {
    pushers.emplace_back([&, i] {
      owner.limit().wait_for_room([&] { return owner.try_take(); });
      {
        const std::lock_guard lock(mutex);
        order.push_back(i);
      }
      owner.give_back();
    });
    while (owner.limit().blocked() != i + 1) std::this_thread::yield();
  }
  owner.give_back();
  for (std::thread& pusher : pushers) pusher.join();
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3});
}

TEST_CASE("a blocked pusher that hears news while it looks looks again at once") {
  Clock::duration least = Clock::duration::max();
  for (int round = 0; round < 50; ++round) {
    PendingLimit limit(1);
    Clock::time_point told;
    bool is_first = true;
    limit.wait_for_room([&] {
      if (!std::exchange(is_first, false)) return true;
      limit.tell();
      told = Clock::now();
      return false;
    });
    least = std::min(least, Clock::now() - told);
  }
  CHECK(least < std::chrono::milliseconds(1));  // by itself it looks again after 3 ms
}

TEST_CASE("stopping the pending limit turns blocked pushers away") {
  Owner owner(1);
  REQUIRE(owner.try_take());
  std::atomic<bool> turned_away{false};
  std::thread pusher(
      [&] { turned_away = !owner.limit().wait_for_room([&] { return owner.try_take(); }); });
  owner.limit().stop();
  pusher.join();
  CHECK(turned_away);
  CHECK(owner.limit().stopped());
}

TEST_CASE("a blocked pusher that looks in vain and throws leaves the line to the next one") {
  PendingLimit limit(1);
  const auto throws = []() -> bool { throw std::runtime_error("no memory"); };
  CHECK_THROWS_AS(limit.wait_for_room(throws), std::runtime_error);
  CHECK(limit.blocked() == 0);
  CHECK(limit.wait_for_room([] { return true; }));
}

TEST_CASE("waiting for an empty pending limit ends at the deadline") {
  Owner owner(1);
  CHECK(owner.wait_until_empty(Clock::now()));
  REQUIRE(owner.try_take());
  CHECK_FALSE(owner.wait_until_empty(Clock::now() + std::chrono::milliseconds(5)));
  std::thread releaser([&] { owner.give_back(); });
  CHECK(owner.wait_until_empty(Clock::time_point::max()));
  releaser.join();
}
