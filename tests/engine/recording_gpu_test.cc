#include <atomic>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/support/engines.h"
#include "tests/support/recording_program.h"
#include "tests/support/scale.h"

// Recordings of operations on devices whose lanes are streams. This program has two GPUs.

namespace heddle {
namespace {

using support::RecordingShape;

TEST_CASE("random recordings on GPUs end as on the naive engine") {
  HEDDLE_FOR_EACH(options, every_engine);
  for (int i = 0; i < 12 / support::kScale + 1; ++i) {
    RecordingShape shape;
    shape.seed = std::uint64_t{1000} * Catch::rngSeed() + static_cast<std::uint64_t>(i);
    shape.gpus = 2;
    REQUIRE(support::check_recordings(shape, options) == "");
  }
}

TEST_CASE("random recordings of several threads on GPUs end as on the naive engine") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  for (int i = 0; i < 6 / support::kScale + 1; ++i) {
    RecordingShape shape;
    shape.seed = std::uint64_t{1000} * Catch::rngSeed() + static_cast<std::uint64_t>(i);
    shape.gpus = 2;
    shape.threads = 3;
    REQUIRE(support::check_recordings(shape, options) == "");
  }
}

TEST_CASE("no recorded callable of a stream is called by two runs at a time") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::atomic<int> inside{0};
  std::atomic<int> twice{0};
  int calls = 0;
  const Recording recording = engine.record([&] {
    engine.push(
        [&] {
          if (inside.fetch_add(1) != 0) ++twice;
          ++calls;
          inside.fetch_sub(1);
        },
        {x}, {}, {.device = Device::gpu(0)});
  });
  constexpr int kRuns = 200 / support::kScale;
  for (int i = 0; i < kRuns; ++i) recording.run();
  engine.wait_for_all();
  CHECK(twice == 0);
  CHECK(calls == kRuns);
}

TEST_CASE("a device that does not exist is refused when it is recorded") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  CHECK_THROWS(
      engine.record([&] { engine.push([] {}, {}, {}, {.device = Device::gpu(num_gpus())}); }));
  CHECK(engine.push([] {}, {}, {}) == 1);
}

}  // namespace
}  // namespace heddle
