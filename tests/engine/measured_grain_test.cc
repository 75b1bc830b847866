#include "engine/measured_grain.h"

#include <catch2/catch.hpp>

#include "engine/trace_log.h"

using heddle::detail::MeasuredGrain;

namespace {

constexpr std::int64_t kLong = 1'000'000;

/// Of so many tiny ones the last one leaves no doubt, whatever there was before.
constexpr int kMany = 100;

void measure_long(MeasuredGrain& grain) { grain.measured_one(heddle::detail::now_ns() - kLong); }

/// As if it ended before it began: whatever the system does here, it did not take long.
void measure_tiny(MeasuredGrain& grain, int times = 1) {
  for (int i = 0; i < times; ++i) grain.measured_one(heddle::detail::now_ns() + kLong);
}

}  // namespace

TEST_CASE("operations do not count as tiny before one is measured") {
  MeasuredGrain grain;
  CHECK_FALSE(grain.is_tiny());
  CHECK_FALSE(grain.is_in_doubt());
  measure_tiny(grain);
  CHECK(grain.is_tiny());
}

TEST_CASE("one operation that takes long among tiny ones leaves them tiny, but in doubt") {
  MeasuredGrain grain;
  measure_tiny(grain, kMany);
  REQUIRE_FALSE(grain.is_in_doubt());
  measure_long(grain);
  CHECK(grain.is_tiny());
  CHECK(grain.is_in_doubt());
  measure_tiny(grain, kMany);
  CHECK_FALSE(grain.is_in_doubt());
}

TEST_CASE("operations are not tiny any more once a second one takes long soon after the first") {
  MeasuredGrain grain;
  measure_tiny(grain, kMany);
  measure_long(grain);
  measure_tiny(grain);
  measure_long(grain);
  CHECK_FALSE(grain.is_tiny());
}
