#pragma once

#include <cstdint>

#include "engine/device/cuda_for_each.h"
#include "ops/reduce_row.h"

// For .cu files: a warp works on one row, in the order of reduce_row(), so that the bits are those
// of the CPU.

namespace heddle::ops {

static_assert(kLanes == 32, "the lanes of reduce_row() are the threads of a warp");

inline constexpr int kWarp = 32;
inline constexpr int kRowThreads = 256;  // of a block
inline constexpr int kRowsPerBlock = kRowThreads / kWarp;

/// The value that the thread `distance` behind has. Called by all threads of the warp.
template <class T>
__device__ T from_behind(T value, int distance) {
  if constexpr (sizeof(T) < sizeof(int)) {
    return static_cast<T>(
        __shfl_down_sync(0xFFFFFFFFU, static_cast<int>(value), static_cast<unsigned>(distance)));
  } else {
    return __shfl_down_sync(0xFFFFFFFFU, value, static_cast<unsigned>(distance));
  }
}

template <class T>
__device__ T from_first(T value) {
  if constexpr (sizeof(T) < sizeof(int)) {
    return static_cast<T>(__shfl_sync(0xFFFFFFFFU, static_cast<int>(value), 0));
  } else {
    return __shfl_sync(0xFFFFFFFFU, value, 0);
  }
}

/// reduce_row() of load(0) … load(n - 1), for all threads of the warp, which all call it.
template <class R, class Load>
__device__ typename R::Accumulator warp_reduce_row(Load load, std::int64_t n, int lane) {
  typename R::Accumulator total = R::kStart;
  if (n < kLanes) {
    for (std::int64_t i = 0; i < n; ++i) total = R::join(total, R::widen(load(i)));
    return total;
  }
  for (std::int64_t i = lane; i < n; i += kLanes) total = R::join(total, R::widen(load(i)));
  for (int width = kWarp / 2; width > 0; width /= 2) {
    const typename R::Accumulator other = from_behind(total, width);
    if (lane < width) total = R::join(total, other);
  }
  return from_first(total);
}

template <class Body>
__global__ void cuda_rows_kernel(std::int64_t rows, Body body) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t first =
      std::int64_t{blockIdx.x} * kRowsPerBlock + static_cast<std::int64_t>(threadIdx.x) / kWarp;
  for (std::int64_t row = first; row < rows; row += std::int64_t{gridDim.x} * kRowsPerBlock) {
    body(row, lane);
  }
}

/// Calls body(row, lane) with all threads of a warp for each row, as a part of the step `on`.
template <class Body>
void cuda_for_rows(const device::CudaLaunch& on, std::int64_t rows, Body body) {
  if (rows == 0) return;
  device::cuda_run_kernel(on, &cuda_rows_kernel<Body>, device::cuda_blocks(rows, kRowsPerBlock),
                          kRowThreads, rows, body);
}

}  // namespace heddle::ops
