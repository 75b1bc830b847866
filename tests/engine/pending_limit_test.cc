#include "engine/pending_limit.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace {

using heddle::detail::AdmissionMode;
using heddle::detail::PendingLimit;
using Clock = std::chrono::steady_clock;

}  // namespace

TEST_CASE("The pending limit refuses what does not fit and forces what must") {
  PendingLimit limit(1);
  CHECK(limit.acquire(AdmissionMode::kTry));
  CHECK_FALSE(limit.acquire(AdmissionMode::kTry));
  CHECK(limit.acquire(AdmissionMode::kForce));
  CHECK(limit.pending() == 2);
  limit.release();
  CHECK_FALSE(limit.acquire(AdmissionMode::kTry));
  limit.release();
  CHECK(limit.acquire(AdmissionMode::kTry));
}

TEST_CASE("Blocked pushers never exceed the pending limit and all get in") {
  constexpr std::size_t kLimit = 3;
  constexpr int kPushers = 6;
  constexpr int kRounds = 500;
  PendingLimit limit(kLimit);
  std::atomic<std::size_t> inside{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> pushers;
  for (int i = 0; i < kPushers; ++i) {
    pushers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        limit.acquire(AdmissionMode::kBlock);
        if (inside.fetch_add(1) >= kLimit) exceeded = true;
        inside.fetch_sub(1);
        limit.release();
      }
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  CHECK_FALSE(exceeded);
  CHECK(limit.pending() == 0);
}

TEST_CASE("Stopping the pending limit turns blocked pushers away") {
  PendingLimit limit(1);
  REQUIRE(limit.acquire(AdmissionMode::kBlock));
  std::atomic<bool> turned_away{false};
  std::thread pusher([&] {
    try {
      limit.acquire(AdmissionMode::kBlock);
    } catch (const heddle::EngineStopped&) {
      turned_away = true;
    }
  });
  limit.stop();
  pusher.join();
  CHECK(turned_away);
  CHECK_THROWS_AS(limit.acquire(AdmissionMode::kTry), heddle::EngineStopped);
}

TEST_CASE("Waiting for an empty pending limit ends at the deadline") {
  PendingLimit limit(1);
  CHECK(limit.wait_until_empty(Clock::now()));
  REQUIRE(limit.acquire(AdmissionMode::kBlock));
  CHECK_FALSE(limit.wait_until_empty(Clock::now() + std::chrono::milliseconds(5)));
  std::thread releaser([&] { limit.release(); });
  CHECK(limit.wait_until_empty(Clock::time_point::max()));
  releaser.join();
}
