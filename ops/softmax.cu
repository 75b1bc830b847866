#include <cmath>

#include "ops/cuda_row.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

template <class T>
void softmax(const void* x, void* out, std::int64_t rows, std::int64_t n) {
  const T* const all = static_cast<const T*>(x);
  T* const results = static_cast<T*>(out);
  device::CudaLaunch on("softmax");
  cuda_for_rows(on, rows, [=] __device__(std::int64_t row, int lane) {
    const T* const from = all + row * n;
    T* const to = results + row * n;
    const T greatest = warp_reduce_row<Max<T>>([=](std::int64_t i) { return from[i]; }, n, lane);
    const T sum = static_cast<T>(warp_reduce_row<Sum<T>>(
        [=](std::int64_t i) { return exponential(from[i] - greatest); }, n, lane));
    for (std::int64_t i = lane; i < n; i += kWarp) to[i] = exponential(from[i] - greatest) / sum;
  });
  on.finish();
}

template <class T>
void log_softmax(const void* x, void* out, std::int64_t rows, std::int64_t n) {
  const T* const all = static_cast<const T*>(x);
  T* const results = static_cast<T*>(out);
  device::CudaLaunch on("log_softmax");
  cuda_for_rows(on, rows, [=] __device__(std::int64_t row, int lane) {
    const T* const from = all + row * n;
    T* const to = results + row * n;
    const T greatest = warp_reduce_row<Max<T>>([=](std::int64_t i) { return from[i]; }, n, lane);
    const T log_sum = static_cast<T>(std::log(warp_reduce_row<Sum<T>>(
        [=](std::int64_t i) { return exponential(from[i] - greatest); }, n, lane)));
    for (std::int64_t i = lane; i < n; i += kWarp) to[i] = (from[i] - greatest) - log_sum;
  });
  on.finish();
}

}  // namespace

RowsKernel softmax_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &softmax<float>;
  return dtype == DType::kFloat64 ? &softmax<double> : nullptr;
}

RowsKernel log_softmax_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &log_softmax<float>;
  return dtype == DType::kFloat64 ? &log_softmax<double> : nullptr;
}

}  // namespace heddle::ops::cuda
