#include <cstdint>

#include <catch2/catch.hpp>

#include "tests/support/array_program.h"
#include "tests/support/scale.h"

// Random programs that make, use and free arrays, against the same on plain vectors. Many more of
// them: tests/stress.

namespace heddle {
namespace {

using support::check_arrays;

TEST_CASE("random programs over arrays on all devices give what plain vectors give") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CHECK(check_arrays({.seed = seed, .threads = 1, .steps_per_thread = 2000 / support::kScale}) ==
          "");
  }
}

TEST_CASE("threads with random programs over arrays of their own do not disturb each other") {
  for (std::uint64_t seed = 21; seed <= 25; ++seed) {
    CHECK(check_arrays({.seed = seed, .threads = 4, .steps_per_thread = 2000 / support::kScale}) ==
          "");
  }
}

}  // namespace
}  // namespace heddle
