#include "engine/device/cuda_for_each.h"
#include "ops/cuda_blas.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

template <class T>
void dot(const MatmulSizes& sizes, const void* a, const void* b, void* out) {
  device::CudaLaunch on("dot");
  cuda_matmul(on, sizes, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out),
              false);
  on.finish();
}

template <class T>
void forward(const MatmulSizes& sizes, const void* x, const void* weight, const void* bias,
             void* out) {
  const T* const from = static_cast<const T*>(bias);
  T* const to = static_cast<T*>(out);
  const std::int64_t outputs = sizes.n;
  device::CudaLaunch on("fully_connected");
  device::cuda_for_each(on, sizes.m * sizes.n,
                        [=] __device__(std::int64_t i) { to[i] = from[i % outputs]; });
  cuda_matmul(on, sizes, static_cast<const T*>(x), static_cast<const T*>(weight), to, true);
  on.finish();
}

/// The bias's gradient in the order of the rows, as on the CPU.
template <class T>
void weight_gradient(const MatmulSizes& sizes, const void* grad, const void* x, void* weight,
                     void* bias) {
  const T* const g = static_cast<const T*>(grad);
  T* const sums = static_cast<T*>(bias);
  const std::int64_t outputs = sizes.m;
  const std::int64_t rows = sizes.k;
  device::CudaLaunch on("fully_connected_backward_weight");
  device::cuda_for_each(on, outputs, [=] __device__(std::int64_t j) {
    T sum{0};
    for (std::int64_t i = 0; i < rows; ++i) sum += g[i * outputs + j];
    sums[j] = sum;
  });
  cuda_matmul(on, sizes, g, static_cast<const T*>(x), static_cast<T*>(weight), false);
  on.finish();
}

}  // namespace

DotKernel dot_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &dot<float>;
  return dtype == DType::kFloat64 ? &dot<double> : nullptr;
}

ForwardKernel fully_connected_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &forward<float>;
  return dtype == DType::kFloat64 ? &forward<double> : nullptr;
}

WeightKernel weight_gradient_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &weight_gradient<float>;
  return dtype == DType::kFloat64 ? &weight_gradient<double> : nullptr;
}

}  // namespace heddle::ops::cuda
