#pragma once

#include <cstddef>
#include <cstring>
#include <functional>

#include <cuda_runtime_api.h>

#include "engine/device/cuda_launch.h"
#include "tests/support/emulated_cuda.h"

// Stands in for engine/device/cuda_kernel.h where .cu files are compiled as plain C++: kernels run
// on the host, on the threads of tests/support/fake_cuda_runtime.cc.

// What a block shares is one object: one block runs at a time.
#undef __shared__
#define __shared__ static

#define threadIdx (heddle::support::emulated_thread().thread)
#define blockIdx (heddle::support::emulated_thread().block)
#define blockDim (heddle::support::emulated_thread().block_size)
#define gridDim (heddle::support::emulated_thread().grid_size)

inline void __syncthreads() { heddle::support::wait_for_block(); }

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return heddle::support::exchange_in_warp(value, lane);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  const int lane = static_cast<int>(threadIdx.x % 32U + distance);
  return heddle::support::exchange_in_warp(value, lane < 32 ? lane : lane - 32);
}

inline unsigned long long atomicCAS(unsigned long long* word, unsigned long long expected,
                                    unsigned long long desired) {
  return __sync_val_compare_and_swap(word, expected, desired);
}

namespace heddle::device {

template <class... Parameters, class... Args>
void cuda_run_kernel(const CudaLaunch& on, void (*kernel)(Parameters...), unsigned blocks,
                     dim3 threads, Args... args) {
  support::enqueue_on_fake_cuda(
      on.stream(), [=] { support::run_grid(blocks, threads, [=] { kernel(args...); }); });
}

}  // namespace heddle::device
