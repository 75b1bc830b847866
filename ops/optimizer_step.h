#pragma once

#include <cmath>
#include <cstdint>

#include "ops/optimizer.h"
#include "ops/vectorize.h"

// Element i's step of each optimizer: what a kernel does with a weight and its gradient, and with
// element i of the state.

namespace heddle::ops {

template <class T>
class SgdStep {
 public:
  static constexpr const char* kName = "sgd_update";

  explicit SgdStep(const StepOptions& options)
      : lr_(static_cast<T>(options.lr)), wd_(static_cast<T>(options.wd)) {}

  HEDDLE_INLINE void operator()(T& weight, T grad, T* /*first*/, T* /*second*/,
                                std::int64_t /*i*/) const {
    weight -= lr_ * (grad + wd_ * weight);
  }

 private:
  T lr_, wd_;
};

template <class T>
class MomentumStep {
 public:
  static constexpr const char* kName = "sgd_mom_update";

  explicit MomentumStep(const StepOptions& options)
      : lr_(static_cast<T>(options.lr)),
        momentum_(static_cast<T>(options.momentum)),
        wd_(static_cast<T>(options.wd)) {}

  HEDDLE_INLINE void operator()(T& weight, T grad, T* velocity, T* /*second*/,
                                std::int64_t i) const {
    const T v = momentum_ * velocity[i] - lr_ * (grad + wd_ * weight);
    velocity[i] = v;
    weight += v;
  }

 private:
  T lr_, momentum_, wd_;
};

template <class T>
class AdamStep {
 public:
  static constexpr const char* kName = "adam_update";

  explicit AdamStep(const StepOptions& options)
      : lr_(static_cast<T>(options.lr)),
        beta1_(static_cast<T>(options.beta1)),
        beta2_(static_cast<T>(options.beta2)),
        eps_(static_cast<T>(options.eps)),
        wd_(static_cast<T>(options.wd)),
        root_scale_(static_cast<T>(options.root_scale)) {}

  HEDDLE_INLINE void operator()(T& weight, T grad, T* mean, T* var, std::int64_t i) const {
    const T slope = grad + wd_ * weight;
    const T m = beta1_ * mean[i] + (T{1} - beta1_) * slope;
    const T v = beta2_ * var[i] + (T{1} - beta2_) * slope * slope;
    mean[i] = m;
    var[i] = v;
    weight -= lr_ * m / (std::sqrt(v) * root_scale_ + eps_);
  }

 private:
  T lr_, beta1_, beta2_, eps_, wd_, root_scale_;
};

/// pick.operator()<Step>() for the class template of `rule`.
template <class Picker>
auto pick_step(StepRule rule, Picker pick) {
  switch (rule) {
    case StepRule::kSgd:
      return pick.template operator()<SgdStep>();
    case StepRule::kMomentum:
      return pick.template operator()<MomentumStep>();
    default:
      return pick.template operator()<AdamStep>();
  }
}

}  // namespace heddle::ops
