#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/device.h"
#include "heddle/dtype.h"

// The kernels of sgd_update, sgd_mom_update and adam_update, for others that update a block of
// elements inside an operation of their own.

namespace heddle::ops {

/// What one step of any optimizer is told. Converted to the arrays' type once per call.
struct StepOptions {
  double lr = 0;
  double momentum = 0;
  double wd = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double root_scale = 1;  // bias correction of sqrt(var); that of the mean is in lr
};

/// `step` counts from 1.
StepOptions adam_step(double lr, double beta1, double beta2, double eps, double wd,
                      std::int64_t step);

using SgdKernel = void (*)(void* w, const void* g, std::int64_t n, const StepOptions&);
using MomentumKernel = void (*)(void* w, const void* g, void* m, std::int64_t n,
                                const StepOptions&);
using AdamKernel = void (*)(void* w, const void* g, void* mean, void* var, std::int64_t n,
                            const StepOptions&);

// The kernels for arrays on `device`. Types other than float32 and float64 are
// std::invalid_argument in the name of `op`.
SgdKernel sgd_kernel(std::string_view op, Device device, DType dtype);
MomentumKernel momentum_kernel(std::string_view op, Device device, DType dtype);
AdamKernel adam_kernel(std::string_view op, Device device, DType dtype);

}  // namespace heddle::ops
