#pragma once

#include <memory>

#include "engine/device/backend.h"
#include "engine/device/memory_pool.h"

namespace heddle::device {

// The CUDA half of the device table. The build chooses which file defines it.

/// Number of CUDA GPUs that can be used; 0 also without a driver.
int cuda_device_count();

/// Logical GPU `id`, one of `sharers` on CUDA GPU `index`, 0 <= index < cuda_device_count(), with
/// an equal share of its memory. Throws DeviceError.
std::unique_ptr<Backend> make_cuda_device(int id, int index, int sharers);

/// Page-locked memory of the host, for a process that has made a CUDA device. Never destroyed.
MemoryPool& cuda_pinned_pool();

}  // namespace heddle::device
