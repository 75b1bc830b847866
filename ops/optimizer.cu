#include "engine/device/cuda_for_each.h"
#include "ops/kernels.h"
#include "ops/optimizer_step.h"

namespace heddle::ops::cuda {
namespace {

using device::cuda_for_each;

template <class T>
void sgd(void* w, const void* g, std::int64_t n, const StepOptions& options) {
  T* const weight = static_cast<T*>(w);
  const T* const grad = static_cast<const T*>(g);
  const T lr = static_cast<T>(options.lr);
  const T wd = static_cast<T>(options.wd);
  cuda_for_each("sgd_update", n,
                [=] __device__(std::int64_t i) { sgd_step(weight[i], grad[i], lr, wd); });
}

template <class T>
void sgd_momentum(void* w, const void* g, void* m, std::int64_t n, const StepOptions& options) {
  T* const weight = static_cast<T*>(w);
  const T* const grad = static_cast<const T*>(g);
  T* const velocity = static_cast<T*>(m);
  const T lr = static_cast<T>(options.lr);
  const T momentum = static_cast<T>(options.momentum);
  const T wd = static_cast<T>(options.wd);
  cuda_for_each("sgd_mom_update", n, [=] __device__(std::int64_t i) {
    momentum_step(weight[i], grad[i], velocity[i], lr, momentum, wd);
  });
}

template <class T>
void adam(void* w, const void* g, void* mean, void* var, std::int64_t n,
          const StepOptions& options) {
  T* const weight = static_cast<T*>(w);
  const T* const grad = static_cast<const T*>(g);
  T* const first = static_cast<T*>(mean);
  T* const second = static_cast<T*>(var);
  const AdamFactors<T> factors = adam_factors<T>(options);
  cuda_for_each("adam_update", n, [=] __device__(std::int64_t i) {
    adam_step(weight[i], grad[i], first[i], second[i], factors);
  });
}

}  // namespace

SgdKernel sgd_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &sgd<float>;
  return dtype == DType::kFloat64 ? &sgd<double> : nullptr;
}

MomentumKernel momentum_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &sgd_momentum<float>;
  return dtype == DType::kFloat64 ? &sgd_momentum<double> : nullptr;
}

AdamKernel adam_kernel(DType dtype) {
  if (dtype == DType::kFloat32) return &adam<float>;
  return dtype == DType::kFloat64 ? &adam<double> : nullptr;
}

}  // namespace heddle::ops::cuda
