#include "engine/device/cuda_for_each.h"
#include "ops/kernels.h"
#include "ops/optimizer_step.h"

namespace heddle::ops::cuda {
namespace {

template <class T, class Step>
void run(const StepArrays& arrays, const StepOptions& options) {
  T* const weight = reinterpret_cast<T*>(arrays.weight);
  const T* const grad = reinterpret_cast<const T*>(arrays.gradients[0]);
  T* const first = reinterpret_cast<T*>(arrays.state[0]);
  T* const second = reinterpret_cast<T*>(arrays.state[1]);
  const Step step(options);
  device::cuda_for_each(Step::kName, arrays.count, [=] __device__(std::int64_t i) {
    step(weight[i], grad[i], first, second, i);
  });
}

}  // namespace

StepKernel step_kernel(StepRule rule, DType dtype) {
  return pick_step(rule, [dtype]<template <class> class Step>() -> StepKernel {
    if (dtype == DType::kFloat32) return &run<float, Step<float>>;
    return dtype == DType::kFloat64 ? &run<double, Step<double>> : nullptr;
  });
}

}  // namespace heddle::ops::cuda
