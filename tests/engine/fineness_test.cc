#include "engine/fineness.h"

#include <catch2/catch.hpp>

// When a run of a recording begins in order, for one worker.

namespace heddle::detail {
namespace {

constexpr int kMany = 1000;

/// The runs of `count` that begin in order.
int in_order(Fineness& fineness, int count, bool are_tiny) {
  int runs = 0;
  for (int i = 0; i < count; ++i) runs += fineness.begins_in_order(are_tiny) ? 1 : 0;
  return runs;
}

TEST_CASE("operations count as fine as long as most of them are") {
  Fineness fineness;
  int changes = 0;
  for (int i = 0; i < kMany; ++i) {
    fineness.measured(/*is_fine=*/i % 3 != 0, /*are_tiny=*/true);
    changes += fineness.is_fine() ? 0 : 1;
  }
  CHECK(changes == 0);
}

TEST_CASE("operations that are not fine any more are found out, the sooner the longer they take") {
  const auto measurements = [](bool are_tiny) {
    Fineness fineness;
    int count = 0;
    for (; fineness.is_fine(); ++count) fineness.measured(/*is_fine=*/false, are_tiny);
    return count;
  };
  CHECK(measurements(/*are_tiny=*/false) <= 5);
  CHECK(measurements(/*are_tiny=*/true) <= 40);
}

TEST_CASE("a recording that was found slow once is tried in order again if operations are tiny") {
  Fineness fineness;
  fineness.found_slow();
  CHECK(in_order(fineness, kMany, /*are_tiny=*/false) == 0);
  CHECK(in_order(fineness, kMany, /*are_tiny=*/true) == kMany / 8);
  for (int i = 0; i < 40; ++i) fineness.measured(/*is_fine=*/true, /*are_tiny=*/true);
  CHECK(in_order(fineness, kMany, /*are_tiny=*/true) == kMany);
}

}  // namespace
}  // namespace heddle::detail
