#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/engines.h"
#include "tests/support/program_test.h"
#include "tests/support/scale.h"

// Random programs over the CPU and two GPUs, all lanes, against their serial replay. The operations
// work on the host; on CUDA devices at the time they are issued.

namespace heddle {
namespace {

using support::ProgramShape;

std::string run_programs(EngineOptions options, int variables, int operations, int count) {
  for (int i = 0; i < count; ++i) {
    for (const int threads : {1, 2, 8}) {
      ProgramShape shape;
      shape.seed = std::uint64_t{1000000} * Catch::rngSeed() + 500 + static_cast<std::uint64_t>(i);
      shape.variables = variables;
      shape.threads = threads;
      shape.steps_per_thread = operations / threads;
      shape.gpus = 2;
      support::vary(shape, options, shape.seed + static_cast<std::uint64_t>(threads + variables));
      options.copy_window = i % 2 == 0 ? 2 : 1;
      options.compute_window = i % 3 == 0 ? 64 : 2;
      std::string failure = support::check_program(shape, options);
      if (!failure.empty()) return failure;
    }
  }
  return {};
}

TEST_CASE("long random programs over GPUs give the result of their serial replay") {
  HEDDLE_FOR_EACH(options, every_engine);
  for (const int variables : {1, 3, 8, 64, 1024}) {
    CHECK(run_programs(options, variables, 3000 / support::kScale, 2) == "");
  }
}

TEST_CASE("short random programs over GPUs give the result of their serial replay") {
  HEDDLE_FOR_EACH(options, every_engine);
  for (const int variables : {1, 2, 8}) {
    CHECK(run_programs(options, variables, 24, 12 / support::kScale + 1) == "");
  }
}

}  // namespace
}  // namespace heddle
