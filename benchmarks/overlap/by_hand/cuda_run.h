#pragma once

#include <cuda_runtime_api.h>

// For .cu files.

namespace bench::overlap::by_hand {

/// Launches kernel(args...). The one place with CUDA's own syntax for it: tests put another in its
/// stead, which calls kernels on the host.
template <class... Parameters, class... Args>
void cuda_run(cudaStream_t stream, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
              Args... args) {
  kernel<<<blocks, threads, 0, stream>>>(args...);
}

}  // namespace bench::overlap::by_hand
