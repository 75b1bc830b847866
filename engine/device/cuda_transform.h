#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/device/cuda_for_each.h"

// For .cu files.

namespace heddle::device {

/// Neighbouring elements that a thread reads or writes by one instruction.
template <class T, int kSize>
struct alignas(sizeof(T) * kSize) CudaPack {
  T of[kSize];
};

/// So many packs of an array are on their way to a thread while it waits for memory.
inline constexpr int kCudaAtOnce = 4;

/// Several packs of one array, as far from each other as threads of the grid.
template <class T, int kSize, int kCount>
struct CudaPacks {
  CudaPack<T, kSize> of[kCount];
};

template <int kSize, int kCount, class T>
__device__ CudaPacks<T, kSize, kCount> cuda_load_packs(const T* from, std::int64_t first,
                                                       std::int64_t step) {
  CudaPacks<T, kSize, kCount> packs;
  const auto* const at = reinterpret_cast<const CudaPack<T, kSize>*>(from) + first;
#pragma unroll
  for (int k = 0; k < kCount; ++k) packs.of[k] = at[k * step];
  return packs;
}

template <int kSize, int kCount, class To, class F, class... From>
__device__ void cuda_store_packs(To* to, std::int64_t first, std::int64_t step, const F& f,
                                 const CudaPacks<From, kSize, kCount>&... from) {
  auto* const at = reinterpret_cast<CudaPack<To, kSize>*>(to) + first;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    CudaPack<To, kSize> pack;
#pragma unroll
    for (int i = 0; i < kSize; ++i) pack.of[i] = f(from.of[k].of[i]...);
    at[k * step] = pack;
  }
}

/// The first `packs` packs as such, and what is behind them element by element.
template <int kSize, class To, class F, class... From>
__global__ void cuda_transform_kernel(std::int64_t n, std::int64_t packs, To* to, F f,
                                      const From*... from) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t i = first;
  for (; i + (kCudaAtOnce - 1) * step < packs; i += kCudaAtOnce * step) {
    cuda_store_packs<kSize, kCudaAtOnce>(to, i, step, f,
                                         cuda_load_packs<kSize, kCudaAtOnce>(from, i, step)...);
  }
  for (; i < packs; i += step) {
    cuda_store_packs<kSize, 1>(to, i, step, f, cuda_load_packs<kSize, 1>(from, i, step)...);
  }
  for (i = packs * kSize + first; i < n; i += step) to[i] = f(from[i]...);
}

/// Calculates to[i] = f(from[i]...) on the device for every i < n, as a step of its own. An array
/// of `from` may be `to`.
template <class To, class F, class... From>
void cuda_transform(const char* what, std::int64_t n, To* to, F f, const From*... from) {
  constexpr std::size_t kBytes = 16;  // that a thread can read or write at once
  constexpr int kSize = static_cast<int>(kBytes / std::max({sizeof(To), sizeof(From)...}));
  if (n == 0) return;
  const auto is_aligned = [](const auto* array) {
    return reinterpret_cast<std::uintptr_t>(array) % (sizeof(*array) * kSize) == 0;
  };
  const std::int64_t packs = is_aligned(to) && (is_aligned(from) && ...) ? n / kSize : 0;
  const std::int64_t turns = packs != 0 ? packs : n;
  // As many threads as there can be, before any takes several turns.
  const bool is_small = turns <= std::int64_t{132} * 8 * kCudaThreads;
  const unsigned blocks = cuda_blocks(turns, is_small ? kCudaThreads : kCudaThreads * kCudaAtOnce);
  CudaLaunch on(what);
  cuda_run_kernel(on, &cuda_transform_kernel<kSize, To, F, From...>, blocks, kCudaThreads, n, packs,
                  to, f, from...);
  on.finish();
}

}  // namespace heddle::device
