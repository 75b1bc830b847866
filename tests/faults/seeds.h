#pragma once

#include <cstdint>

#include <catch2/catch.hpp>

#include "tests/support/watchdog.h"

namespace heddle::faults {

/// Calls `run` with `count` seeds from `first` on; a failure prints the seed.
template <class Run>
void for_seeds(int count, Run&& run, std::uint64_t first = 0) {
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    INFO("seed " << seed);
    support::watchdog::progress();
    run(seed);
  }
}

}  // namespace heddle::faults
