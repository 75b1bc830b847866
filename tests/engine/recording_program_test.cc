#include "tests/support/recording_program.h"

#include <catch2/catch.hpp>

#include "tests/support/engines.h"
#include "tests/support/scale.h"

// Random programs that run recordings among other pushes, against the same operations pushed one
// by one to kNaive. A failure prints the seed; `--rng-seed N` tries other programs.

namespace heddle {
namespace {

using support::RecordingShape;

std::uint64_t first_seed() { return std::uint64_t{1000} * Catch::rngSeed() + 1; }

TEST_CASE("random recordings end as their operations pushed one by one to the naive engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  for (int i = 0; i < 40 / support::kScale; ++i) {
    EngineOptions varied = options;
    varied.max_pending = i % 3 == 0 ? 8 : 65536;
    RecordingShape shape;
    shape.seed = first_seed() + static_cast<std::uint64_t>(i);
    shape.variables = i % 2 == 0 ? 3 : 40;
    REQUIRE(support::check_recordings(shape, varied) == "");
  }
}

TEST_CASE("random recordings of several threads end as their operations pushed one by one") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  for (int i = 0; i < 20 / support::kScale; ++i) {
    EngineOptions varied = options;
    varied.max_pending = i % 3 == 0 ? 8 : 65536;
    RecordingShape shape;
    shape.seed = first_seed() + static_cast<std::uint64_t>(i);
    shape.threads = 4;
    shape.variables = i % 2 == 0 ? 6 : 100;
    REQUIRE(support::check_recordings(shape, varied) == "");
  }
}

}  // namespace
}  // namespace heddle
