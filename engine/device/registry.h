#pragma once

#include <span>

#include "engine/device/backend.h"
#include "engine/device/gpu_spec.h"

namespace heddle::device {

// The device table: which backend stands behind each Device. The GPUs are settled by the first
// call that needs them, from configure() and HEDDLE_GPUS; it throws std::invalid_argument if they
// do not parse or name a CUDA GPU that is not there. backend_of() and num_gpus() read the table.
//
// Thread safety: every function may be called from any thread.

/// Throws std::invalid_argument, naming HEDDLE_GPUS, unless 0 <= id < num_gpus().
void check_gpu_id(int id);

/// What the GPUs are; valid to the end of the process.
std::span<const LogicalGpu> logical_gpu_table();

}  // namespace heddle::device
