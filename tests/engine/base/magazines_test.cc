#include "engine/base/magazines.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle::base {
namespace {

std::atomic<int> living{0};

struct Thing {
  static constexpr std::size_t kHotBytes = 64;
  Thing() { ++living; }
  ~Thing() { --living; }
  Thing(const Thing&) = delete;
  Thing& operator=(const Thing&) = delete;
  int last_round = -1;
};

TEST_CASE("a supply makes new objects until some come back") {
  {
    Magazines<Thing> magazines;
    Supply<Thing> supply(magazines);
    std::vector<Thing*> things;
    for (int i = 0; i < 100; ++i) things.push_back(supply.take());
    CHECK(living == 100);
    for (Thing* const thing : things) magazines.put(*thing);
    // Three full magazines are 96 objects.
    for (int i = 0; i < 96; ++i) things[static_cast<std::size_t>(i)] = supply.take();
    CHECK(living == 100);
    for (int i = 0; i < 96; ++i) supply.put(*things[static_cast<std::size_t>(i)]);
  }
  CHECK(living == 0);
}

TEST_CASE("objects that threads give back are each taken once") {
  constexpr int kThreads = 3;
  constexpr int kObjects = 3000;
  {
    Magazines<Thing> magazines;
    Supply<Thing> supply(magazines);
    for (int round = 0; round < 5; ++round) {
      std::vector<std::vector<Thing*>> shares(kThreads);
      int twice = 0;
      for (int i = 0; i < kObjects; ++i) {
        Thing* const thing = supply.take();
        if (thing->last_round == round) ++twice;
        thing->last_round = round;
        shares[static_cast<std::size_t>(i % kThreads)].push_back(thing);
      }
      CHECK(twice == 0);
      std::vector<std::thread> threads;
      for (std::vector<Thing*>& share : shares) {
        threads.emplace_back([&magazines, &share] {
          for (Thing* const thing : share) magazines.put(*thing);
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    CHECK(living < kObjects + 1000);
  }
  CHECK(living == 0);
}

}  // namespace
}  // namespace heddle::base
