#include "engine/ready_set.h"

#include <random>
#include <set>

#include <catch2/catch.hpp>

// The numbers that are ready, the smallest first.

namespace heddle::detail {
namespace {

TEST_CASE("a ready set gives the smallest number first, whatever was inserted and taken before") {
  std::mt19937_64 random(7);
  for (const std::size_t bound : {1U, 2U, 63U, 64U, 65U, 4096U, 4097U, 300'000U}) {
    ReadySet ready(bound);
    std::set<std::size_t> expected;
    for (int step = 0; step < 5000; ++step) {
      REQUIRE(ready.empty() == expected.empty());
      const std::size_t number = random() % bound;
      if (random() % 2 == 0 && expected.insert(number).second) {
        ready.insert(number);
      } else if (!expected.empty()) {
        REQUIRE(ready.pop() == *expected.begin());
        expected.erase(expected.begin());
      }
    }
  }
}

TEST_CASE("a ready set can be filled and emptied again and again") {
  constexpr std::size_t kBound = 130;
  ReadySet ready(kBound);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = kBound; i-- > 0;) ready.insert(i);
    for (std::size_t i = 0; i < kBound; ++i) REQUIRE(ready.pop() == i);
    CHECK(ready.empty());
  }
}

}  // namespace
}  // namespace heddle::detail
