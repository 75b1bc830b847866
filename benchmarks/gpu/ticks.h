#pragma once

#include <cstdint>
#include <string>

#include "gpu/by_hand/cuda_device.h"
#include "gpu/sheet.h"

namespace bench::gpu {

/// Which kernels of a chain count; the others do nothing.
enum class Ticks : std::uint8_t {
  kEach,  ///< to see that all of them run
  kLast,  ///< to see that the last one has run, in what is measured
};

/// The counter of kernel `i` of a chain of `length`, for launch_tick().
inline unsigned* counter_of(Ticks ticks, int i, int length, unsigned* counter) {
  return ticks == Ticks::kEach || i + 1 == length ? counter : nullptr;
}

/// Throws unless as many kernels of a chain, which has run so many times, have counted as should.
inline void expect_ticks(by_hand::Counters& counters, Ticks ticks, int length, int times,
                         const std::string& contender) {
  const int count = (ticks == Ticks::kEach ? length : 1) * times;
  expect(counters.take().front() == static_cast<unsigned>(count), contender,
         "other than " + std::to_string(count) + " kernels counted");
}

}  // namespace bench::gpu
