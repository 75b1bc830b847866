#pragma once

#include <cuda_runtime_api.h>

namespace bench::gpu::by_hand {

/// Enqueues a kernel of one thread, which adds one to *counter, or does nothing if that is null.
/// Throws heddle::DeviceError if that is refused.
void launch_tick(cudaStream_t stream, unsigned* counter);

}  // namespace bench::gpu::by_hand
