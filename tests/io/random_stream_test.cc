#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/sample.h"

namespace heddle::io {
namespace {

static_assert(std::uniform_random_bit_generator<RandomStream>);

TEST_CASE("equal arguments give equal streams, and each argument matters") {
  const auto first = [](std::uint64_t seed, std::int64_t epoch, std::int64_t id) {
    return RandomStream(seed, epoch, id)();
  };
  CHECK(first(1, 2, 3) == first(1, 2, 3));
  CHECK(first(1, 2, 3) != first(2, 2, 3));
  CHECK(first(1, 2, 3) != first(1, 3, 3));
  CHECK(first(1, 2, 3) != first(1, 2, 4));
  CHECK(first(1, 2, 3) != first(1, 3, 2));
  CHECK(first(0, 0, 0) != first(0, 0, 1));
}

TEST_CASE("bounded numbers are in range and each about equally frequent") {
  RandomStream random(5, 0, 0);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) CHECK(std::abs(count - 10000) < 500);
  CHECK(random.below(1) == 0);
}

TEST_CASE("uniform numbers are at least 0 and below 1, with a mean of one half") {
  RandomStream random(6, 0, 0);
  double sum = 0;
  bool in_range = true;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.uniform();
    in_range = in_range && value >= 0 && value < 1;
    sum += value;
  }
  CHECK(in_range);
  CHECK(sum / 100000 == Approx(0.5).margin(0.01));
}

}  // namespace
}  // namespace heddle::io
