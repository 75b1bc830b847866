#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/cuda_kernel.h"

// For .cu files.

namespace heddle::device {

inline constexpr int kCudaThreads = 256;  // of a block

/// Blocks for n items, `per_block` for each; from some number on blocks take several turns.
inline unsigned cuda_blocks(std::int64_t n, int per_block) {
  constexpr std::int64_t kMost = 132 * 64;
  return static_cast<unsigned>(std::min((n + per_block - 1) / per_block, kMost));
}

template <class Body>
__global__ void cuda_for_each_kernel(std::int64_t n, Body body) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = first; i < n; i += step) body(i);
}

/// Calls body(i) on the device for every i < n, as a part of the step `on`.
template <class Body>
void cuda_for_each(const CudaLaunch& on, std::int64_t n, Body body) {
  if (n == 0) return;
  cuda_run_kernel(on, &cuda_for_each_kernel<Body>, cuda_blocks(n, kCudaThreads), kCudaThreads, n,
                  body);
}

/// The same as a step of its own.
template <class Body>
void cuda_for_each(const char* what, std::int64_t n, Body body) {
  if (n == 0) return;
  CudaLaunch on(what);
  cuda_for_each(on, n, body);
  on.finish();
}

}  // namespace heddle::device
