#pragma once

#include <cmath>

#include "ops/optimizer.h"
#include "ops/vectorize.h"

// One element's step of each optimizer.

namespace heddle::ops {

template <class T>
HEDDLE_INLINE void sgd_step(T& weight, T grad, T lr, T wd) {
  weight -= lr * (grad + wd * weight);
}

template <class T>
HEDDLE_INLINE void momentum_step(T& weight, T grad, T& velocity, T lr, T momentum, T wd) {
  const T v = momentum * velocity - lr * (grad + wd * weight);
  velocity = v;
  weight += v;
}

template <class T>
struct AdamFactors {
  T lr, beta1, beta2, eps, wd, root_scale;
};

template <class T>
AdamFactors<T> adam_factors(const StepOptions& options) {
  return {.lr = static_cast<T>(options.lr),
          .beta1 = static_cast<T>(options.beta1),
          .beta2 = static_cast<T>(options.beta2),
          .eps = static_cast<T>(options.eps),
          .wd = static_cast<T>(options.wd),
          .root_scale = static_cast<T>(options.root_scale)};
}

template <class T>
HEDDLE_INLINE void adam_step(T& weight, T grad, T& first, T& second, const AdamFactors<T>& f) {
  const T slope = grad + f.wd * weight;
  const T m = f.beta1 * first + (T{1} - f.beta1) * slope;
  const T v = f.beta2 * second + (T{1} - f.beta2) * slope * slope;
  first = m;
  second = v;
  weight -= f.lr * m / (std::sqrt(v) * f.root_scale + f.eps);
}

}  // namespace heddle::ops
