#include <cmath>

#include "ops/cuda_index.h"
#include "ops/cuda_row.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

/// As on the CPU: sums of 128 powers, added up.
template <class T>
__device__ double log_sum_exp(const T* from, std::int64_t n, int lane) {
  constexpr std::int64_t kChunk = 128;
  const T greatest = warp_reduce_row<Max<T>>([=](std::int64_t i) { return from[i]; }, n, lane);
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += kChunk) {
    const std::int64_t left = n - begin;
    sum += warp_reduce_row<Sum<T>>(
        [=](std::int64_t i) { return exponential(from[begin + i] - greatest); },
        left < kChunk ? left : kChunk, lane);
  }
  return static_cast<double>(greatest) + std::log(sum);
}

/// out = the sum of the rows' losses, in their order, over their number. One block.
template <class T>
__global__ void mean_of_rows(const double* losses, std::int64_t rows, T* out) {
  __shared__ double tile[kRowThreads];
  double total = 0;
  for (std::int64_t begin = 0; begin < rows; begin += kRowThreads) {
    const std::int64_t row = begin + threadIdx.x;
    if (row < rows) tile[threadIdx.x] = losses[row];
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < kRowThreads && begin + i < rows; ++i) total += tile[i];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = static_cast<T>(total / static_cast<double>(rows));
}

template <class T>
void loss(const void* logits, const IndexReader& labels, void* out, std::int64_t rows,
          std::int64_t classes) {
  const T* const x = static_cast<const T*>(logits);
  device::CudaLaunch on("softmax_cross_entropy");
  auto* const losses =
      static_cast<double*>(on.scratch(static_cast<std::size_t>(rows) * sizeof(double)));
  const CudaIndices indices(on, labels);
  cuda_for_rows(on, rows, [=] __device__(std::int64_t row, int lane) {
    const T* const from = x + row * classes;
    const double log_sum = log_sum_exp(from, classes, lane);
    if (lane == 0) losses[row] = log_sum - static_cast<double>(from[indices[row]]);
  });
  device::cuda_run_kernel(on, &mean_of_rows<T>, 1, kRowThreads, losses, rows, static_cast<T*>(out));
  on.finish();
}

template <class T>
void gradient(const void* logits, const IndexReader& labels, void* out, std::int64_t rows,
              std::int64_t classes) {
  const T* const x = static_cast<const T*>(logits);
  T* const results = static_cast<T*>(out);
  const T scale = T{1} / static_cast<T>(rows);
  device::CudaLaunch on("softmax_cross_entropy_backward");
  const CudaIndices indices(on, labels);
  cuda_for_rows(on, rows, [=] __device__(std::int64_t row, int lane) {
    const T* const from = x + row * classes;
    T* const to = results + row * classes;
    const T greatest =
        warp_reduce_row<Max<T>>([=](std::int64_t i) { return from[i]; }, classes, lane);
    const T sum = static_cast<T>(warp_reduce_row<Sum<T>>(
        [=](std::int64_t i) { return exponential(from[i] - greatest); }, classes, lane));
    const std::int64_t label = indices[row];
    for (std::int64_t i = lane; i < classes; i += kWarp) {
      const T share = exponential(from[i] - greatest) / sum * scale;
      to[i] = i == label ? share - scale : share;
    }
  });
  on.finish();
}

}  // namespace

LossKernel loss_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &loss<float>;
  return dtype == DType::kFloat64 ? &loss<double> : nullptr;
}

LossKernel loss_gradient_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &gradient<float>;
  return dtype == DType::kFloat64 ? &gradient<double> : nullptr;
}

}  // namespace heddle::ops::cuda
