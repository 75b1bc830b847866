#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/engines.h"
#include "tests/support/program_test.h"
#include "tests/support/scale.h"

// Random programs on the parallel engines against their serial replay. A failure prints the shape
// of the program, its seed included. `--rng-seed N` tries other programs.

namespace heddle {
namespace {

using support::ProgramShape;

constexpr std::array kVariables = {1, 2, 3, 8, 64, 1024};

std::uint64_t first_seed() { return std::uint64_t{1000000} * Catch::rngSeed() + 1; }

/// The first failure among programs of `operations` steps each, or "". Where `options` has more
/// than two workers they are from three to so many.
std::string run_programs(EngineOptions options, int variables, int operations, int count) {
  const int most_workers = options.cpu_workers;
  for (int i = 0; i < count; ++i) {
    for (const int threads : {1, 2, 4, 8, 16}) {
      ProgramShape shape;
      shape.seed = first_seed() + static_cast<std::uint64_t>(i);
      shape.variables = variables;
      shape.threads = threads;
      shape.steps_per_thread = (operations + threads - 1) / threads;
      support::vary(shape, options, shape.seed + static_cast<std::uint64_t>(threads + variables));
      if (most_workers > 2) options.cpu_workers = 3 + (i + threads / 2) % (most_workers - 2);
      std::string failure = support::check_program(shape, options);
      if (!failure.empty()) return failure;
    }
  }
  return {};
}

TEST_CASE("long random programs give the result of their serial replay") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  for (const int variables : kVariables) {
    CHECK(run_programs(options, variables, 8000 / support::kScale, 1) == "");
  }
}

TEST_CASE("short random programs give the result of their serial replay") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  for (const int variables : kVariables) {
    CHECK(run_programs(options, variables, 8, 20 / support::kScale) == "");
    CHECK(run_programs(options, variables, 80, 20 / support::kScale) == "");
  }
}

TEST_CASE("random programs of one thread end as on the naive engine, bit for bit") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  for (const int variables : kVariables) {
    ProgramShape shape;
    shape.seed = first_seed() + 77;
    shape.variables = variables;
    shape.steps_per_thread = 4000 / support::kScale;
    shape.children = false;
    CHECK(support::check_program_against_naive(shape, options) == "");
  }
}

TEST_CASE("random programs on the naive engine give the result of their serial replay") {
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  for (const int variables : kVariables) {
    CHECK(run_programs(options, variables, 4000 / support::kScale, 2) == "");
  }
}

TEST_CASE("random programs give the result of their serial replay under many seeds") {
  const int workers = GENERATE(1, 2);
  EngineOptions options;
  options.kind = EngineKind::kExplore;
  options.cpu_workers = workers;
  for (const int variables : kVariables) {
    for (int i = 0; i < 100 / support::kScale; ++i) {
      options.seed = first_seed() + static_cast<std::uint64_t>(i);
      REQUIRE(run_programs(options, variables, i % 10 == 0 ? 800 : 60, 1) == "");
    }
  }
}

TEST_CASE("under every seed a random program of one thread ends as on the naive engine") {
  EngineOptions options;
  options.kind = EngineKind::kExplore;
  ProgramShape shape;
  shape.children = false;
  for (std::uint64_t seed = 0; seed < 200 / support::kScale; ++seed) {
    options.seed = seed;
    options.cpu_workers = seed % 4 == 0 ? 1 : 2;
    options.max_pending = seed % 3 == 0 ? 4 : 65536;
    shape.seed = first_seed() + seed / 10;  // ten schedules of each program
    shape.variables = kVariables[seed / 10 % kVariables.size()];
    shape.steps_per_thread = 300;
    REQUIRE(support::check_program_against_naive(shape, options) == "");
  }
}

}  // namespace
}  // namespace heddle
