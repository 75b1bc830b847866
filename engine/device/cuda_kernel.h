#pragma once

#include "engine/device/cuda_launch.h"

// For .cu files.

namespace heddle::device {

/// Launches kernel(args...) as a part of the step `on`. The one place with CUDA's own syntax for
/// it: tests put another in its stead, which calls kernels on the host.
template <class... Parameters, class... Args>
void cuda_run_kernel(const CudaLaunch& on, void (*kernel)(Parameters...), unsigned blocks,
                     dim3 threads, Args... args) {
  kernel<<<blocks, threads, 0, on.stream()>>>(args...);
}

}  // namespace heddle::device
