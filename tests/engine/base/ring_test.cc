#include "engine/base/ring.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>

#include <catch2/catch.hpp>

using heddle::base::Ring;

TEST_CASE("an element of a ring keeps its number until it leaves") {
  Ring<int> ring;
  REQUIRE(ring.push_back(0));
  REQUIRE(ring.push_back(1));
  const std::uint64_t number = ring.end() - 1;
  for (int i = 2; i < 1000; ++i) REQUIRE(ring.push_back(i));
  REQUIRE(ring.push_front(-1));
  CHECK(ring.pop_front() == -1);
  CHECK(ring.pop_front() == 0);
  CHECK(ring.begin() == number);
  CHECK(ring[number] == 1);
}

TEST_CASE("a ring agrees with a deque over random pushes and pops") {
  const auto seed = GENERATE(range(1U, 6U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Ring<int> ring;
  std::deque<int> model;
  for (int i = 0; i < 10'000; ++i) {
    const auto kind = random() % 5;
    if (kind < 2) {
      REQUIRE(ring.push_back(i));
      model.push_back(i);
    } else if (kind == 2) {
      REQUIRE(ring.push_front(i));
      model.push_front(i);
    } else if (!model.empty()) {
      REQUIRE(ring.front() == model.front());
      REQUIRE(ring.back() == model.back());
      REQUIRE(ring.pop_front() == model.front());
      model.pop_front();
    }
    REQUIRE(ring.size() == model.size());
  }
  CHECK(ring.empty() == model.empty());
}
