#pragma once

#include <cuda_runtime_api.h>

#include "overlap/by_hand/machine.h"

// The kernels of a real GPU, with the operators' formulas. Each is enqueued on a stream of the
// current GPU; errors are for cudaGetLastError().

namespace bench::overlap::by_hand {

void launch_maximum(cudaStream_t stream, const Buffer& a, const Buffer& b, const Buffer& out);

}  // namespace bench::overlap::by_hand
