#include "ops/optimizer.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/optimizer_step.h"

namespace heddle {

namespace ops {

namespace {

template <class T>
void sgd(void* w, const void* g, std::int64_t n, const StepOptions& options) {
  vectorized(
      [](T* weight, const T* grad, std::int64_t count, T lr, T wd) HEDDLE_INLINE_LAMBDA {
        HEDDLE_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) sgd_step(weight[i], grad[i], lr, wd);
      },
      static_cast<T*>(w), static_cast<const T*>(g), n, static_cast<T>(options.lr),
      static_cast<T>(options.wd));
}

template <class T>
void sgd_momentum(void* w, const void* g, void* m, std::int64_t n, const StepOptions& options) {
  vectorized(
      [](T* weight, const T* grad, T* velocity, std::int64_t count, T lr, T momentum, T wd)
          HEDDLE_INLINE_LAMBDA {
            HEDDLE_INDEPENDENT
            for (std::int64_t i = 0; i < count; ++i) {
              momentum_step(weight[i], grad[i], velocity[i], lr, momentum, wd);
            }
          },
      static_cast<T*>(w), static_cast<const T*>(g), static_cast<T*>(m), n,
      static_cast<T>(options.lr), static_cast<T>(options.momentum), static_cast<T>(options.wd));
}

template <class T>
void adam(void* w, const void* g, void* mean, void* var, std::int64_t n,
          const StepOptions& options) {
  vectorized(
      [](T* weight, const T* grad, T* first, T* second, std::int64_t count, AdamFactors<T> factors)
          HEDDLE_INLINE_LAMBDA {
            HEDDLE_INDEPENDENT
            for (std::int64_t i = 0; i < count; ++i) {
              adam_step(weight[i], grad[i], first[i], second[i], factors);
            }
          },
      static_cast<T*>(w), static_cast<const T*>(g), static_cast<T*>(mean), static_cast<T*>(var), n,
      adam_factors<T>(options));
}

void expect_like_weight(const char* op, const char* argument, const NDArray& w, const NDArray& x) {
  common_device(op, {&w, &x});
  common_dtype(op, {&w, &x});
  expect_shape(op, argument, x, w.shape());
}

}  // namespace

SgdKernel sgd_kernel(std::string_view op, Device device, DType dtype) {
  const auto pick = []<class T>(std::type_identity<T>) -> SgdKernel { return &sgd<T>; };
  return kernel_for_device(
      op, device, [&] { return pick_floating(op, dtype, pick); },
      [&] { return cuda::sgd_kernel(dtype); });
}

MomentumKernel momentum_kernel(std::string_view op, Device device, DType dtype) {
  const auto pick = []<class T>(std::type_identity<T>) -> MomentumKernel {
    return &sgd_momentum<T>;
  };
  return kernel_for_device(
      op, device, [&] { return pick_floating(op, dtype, pick); },
      [&] { return cuda::momentum_kernel(dtype); });
}

AdamKernel adam_kernel(std::string_view op, Device device, DType dtype) {
  const auto pick = []<class T>(std::type_identity<T>) -> AdamKernel { return &adam<T>; };
  return kernel_for_device(
      op, device, [&] { return pick_floating(op, dtype, pick); },
      [&] { return cuda::adam_kernel(dtype); });
}

StepOptions adam_step(double lr, double beta1, double beta2, double eps, double wd,
                      std::int64_t step) {
  const auto steps = static_cast<double>(step);
  return {.lr = lr / (1 - std::pow(beta1, steps)),
          .wd = wd,
          .beta1 = beta1,
          .beta2 = beta2,
          .eps = eps,
          .root_scale = 1 / std::sqrt(1 - std::pow(beta2, steps))};
}

}  // namespace ops

void sgd_update(const NDArray& w, const NDArray& g, double lr, double wd) {
  constexpr const char* kOp = "sgd_update";
  ops::expect_like_weight(kOp, "g", w, g);
  const ops::SgdKernel kernel = ops::sgd_kernel(kOp, w.device(), w.dtype());
  const ops::StepOptions options{.lr = lr, .wd = wd};
  ops::launch_in_place(kOp, w.device(), {g.var()}, {w.var()}, [kernel, w, g, options] {
    kernel(ops::address(w), ops::const_address(g), w.size(), options);
  });
}

void sgd_mom_update(const NDArray& w, const NDArray& g, const NDArray& m, double lr,
                    double momentum, double wd) {
  constexpr const char* kOp = "sgd_mom_update";
  ops::expect_like_weight(kOp, "g", w, g);
  ops::expect_like_weight(kOp, "m", w, m);
  const ops::MomentumKernel kernel = ops::momentum_kernel(kOp, w.device(), w.dtype());
  const ops::StepOptions options{.lr = lr, .momentum = momentum, .wd = wd};
  ops::launch_in_place(kOp, w.device(), {g.var()}, {w.var(), m.var()}, [kernel, w, g, m, options] {
    kernel(ops::address(w), ops::const_address(g), ops::address(m), w.size(), options);
  });
}

void adam_update(const NDArray& w, const NDArray& g, const NDArray& mean, const NDArray& var,
                 double lr, double beta1, double beta2, double eps, double wd, std::int64_t step) {
  constexpr const char* kOp = "adam_update";
  ops::expect_like_weight(kOp, "g", w, g);
  ops::expect_like_weight(kOp, "mean", w, mean);
  ops::expect_like_weight(kOp, "var", w, var);
  if (step < 1) ops::refuse(kOp, "step " + std::to_string(step) + ": expected 1 or more");
  const ops::AdamKernel kernel = ops::adam_kernel(kOp, w.device(), w.dtype());
  const ops::StepOptions options = ops::adam_step(lr, beta1, beta2, eps, wd, step);
  ops::launch_in_place(kOp, w.device(), {g.var()}, {w.var(), mean.var(), var.var()},
                       [kernel, w, g, mean, var, options] {
                         kernel(ops::address(w), ops::const_address(g), ops::address(mean),
                                ops::address(var), w.size(), options);
                       });
}

}  // namespace heddle
