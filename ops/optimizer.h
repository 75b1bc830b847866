#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/device.h"
#include "heddle/dtype.h"
#include "heddle/ndarray.h"

// The kernels of sgd_update, sgd_mom_update and adam_update, for others that update a weight inside
// an operation of their own.

namespace heddle::ops {

struct Work;  // invoke.h

enum class StepRule { kSgd, kMomentum, kAdam };

/// What a step of any rule is told. Converted to the arrays' type once per call.
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

/// What a step reads and writes: arrays of `count` elements, no two of which overlap in part.
struct StepArrays {
  /// The gradient is their sum, in their order. At least one; just one for a CUDA device.
  std::span<const std::byte* const> gradients;
  std::byte* weight = nullptr;
  /// kMomentum: the velocity; kAdam: mean and variance.
  std::array<std::byte*, 2> state{};
  /// Each gets what the weight gets. None for a CUDA device.
  std::span<std::byte* const> copies{};
  std::int64_t count = 0;
};

/// Runs on the calling thread, in one pass over the memory, or is enqueued on the operation's
/// stream.
using StepKernel = void (*)(const StepArrays& arrays, const StepOptions& options);

/// What a step of `weight` costs with one gradient and no copies.
Work step_work(StepRule rule, const NDArray& weight);

/// The kernel for arrays on `device`. Types other than float32 and float64 are
/// std::invalid_argument in the name of `op`.
StepKernel step_kernel(std::string_view op, StepRule rule, Device device, DType dtype);

}  // namespace heddle::ops
