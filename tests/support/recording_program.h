#pragma once

#include <cstdint>
#include <string>

#include "heddle/options.h"

namespace heddle::support {

/// What a random program with recordings is made from; the same shape gives the same scripts.
struct RecordingShape {
  std::uint64_t seed = 1;
  int threads = 1;  ///< that push and run recordings, of their own and common ones
  int variables = 6;
  int steps_per_thread = 60;
  int gpus = 0;  ///< how many devices besides the CPU take part
};

/// Runs a random program that pushes operations and runs recordings, also inside operations, and
/// then pushes the same operations one by one, in the order of their sequence numbers, to kNaive.
/// Compares values, versions and poison. Returns "", or what differs.
std::string check_recordings(const RecordingShape& shape, const EngineOptions& options);

}  // namespace heddle::support
