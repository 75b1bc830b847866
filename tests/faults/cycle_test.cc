#include <atomic>
#include <cstdint>

#include <catch2/catch.hpp>

#include "heddle/engine.h"

#include "tests/faults/runs.h"
#include "tests/support/watchdog.h"

// Engines that come and go leave nothing behind.

namespace heddle::faults {
namespace {

/// One engine, used in the way that `seed` says.
void run_cycle(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  std::atomic<int> ran{0};
  const int operations = random.one_in(3) ? 0 : random.below(20);
  {
    Engine engine(any_engine(seed));
    const Var x = engine.new_variable();
    for (int i = 0; i < operations; ++i) {
      const Lane lane = random.one_in(8) ? Lane::kCopyIn : Lane::kCompute;
      if (random.one_in(10)) {
        engine.push(
            [&ran] {
              ++ran;
              throw 1;
            },
            {}, {}, {.lane = lane});
      } else {
        engine.push([&ran] { ++ran; }, {}, {x}, {.lane = lane});
      }
    }
    if (random.one_in(3)) engine.wait_for_var(x);
    if (random.one_in(3)) engine.shutdown();
  }
  CHECK(ran == operations);
  tally.add("operations", static_cast<std::uint64_t>(operations));
  tally.add_run();
}

TEST_CASE("engines that start and stop again and again leave no thread and no memory behind") {
  Tally tally("9 engines that start and stop");
  const int threads = thread_count();
  const int count = runs(2000, 100'000);
  std::int64_t before = 0;
  for (int seed = 0; seed < count; ++seed) {
    INFO("seed " << seed);
    if (seed % 100 == 0) support::watchdog::progress();
    if (seed == count / 4) before = resident_kib();
    run_cycle(static_cast<std::uint64_t>(seed), tally);
    if (seed % 1000 == 0) REQUIRE(threads_fall_to(threads));
  }
  REQUIRE(threads_fall_to(threads));
  CHECK_FALSE(is_more_than(4 * 1024, before, resident_kib()));
}

}  // namespace
}  // namespace heddle::faults
