#pragma once

#include <cuda_runtime_api.h>

#include "engine/device/cuda_kernel.h"
#include "tests/support/emulated_cuda.h"

// Stands in for benchmarks/overlap/by_hand/cuda_run.h, as engine/device/cuda_kernel.h here does for
// its namesake.

namespace bench::overlap::by_hand {

template <class... Parameters, class... Args>
void cuda_run(cudaStream_t stream, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
              Args... args) {
  heddle::support::enqueue_on_fake_cuda(
      stream, [=] { heddle::support::run_grid(blocks, dim3(threads), [=] { kernel(args...); }); });
}

}  // namespace bench::overlap::by_hand
