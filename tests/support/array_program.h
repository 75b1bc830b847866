#pragma once

#include <cstdint>
#include <string>

namespace heddle::support {

/// What a random program over arrays is made from; the same shape gives the same scripts.
struct ArrayProgram {
  std::uint64_t seed = 1;
  int threads = 1;  ///< each runs a script of its own, on all devices
  int steps_per_thread = 1000;
};

/// Runs scripts that make arrays of random sizes on all GPUs and the CPU, fill them, compute with
/// them and with views of them, copy them between devices, and free them while operations use
/// them. The same is done to plain vectors at once, in order, and compared bit for bit, now and
/// then and at the end. A step pushes at least one operation. Returns "", or what differs with all
/// that is needed to run it again. Grants the watchdog another interval now and then.
std::string check_arrays(const ArrayProgram& program);

}  // namespace heddle::support
