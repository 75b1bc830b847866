#include "ops/optimizer.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/optimizer_step.h"

namespace heddle {

namespace ops {

namespace {

constexpr std::size_t kLineBytes = 64;

/// What is summed, stepped and copied at a time: few enough bytes to stay in registers.
constexpr std::size_t kChunkBytes = 2 * kLineBytes;

/// The step of a large weight is bound by memory, with more streams than the hardware follows by
/// itself: each is asked for so far ahead.
constexpr std::size_t kAheadBytes = 2048;

template <class T, class Byte>
HEDDLE_INLINE auto elements(Byte* bytes) {
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  return reinterpret_cast<Element*>(bytes);
}

/// Elements begin <= i < begin + count, at most a chunk.
template <class T, class Step>
HEDDLE_INLINE void step_some(const StepArrays& arrays, const Step& step, std::int64_t begin,
                             std::int64_t count) {
  T total[kChunkBytes / sizeof(T)];
  const T* gradient = elements<T>(arrays.gradients[0]) + begin;
  HEDDLE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) total[i] = gradient[i];
  for (std::size_t k = 1; k < arrays.gradients.size(); ++k) {
    gradient = elements<T>(arrays.gradients[k]) + begin;
    HEDDLE_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) total[i] += gradient[i];
  }

  T* const weight = elements<T>(arrays.weight) + begin;
  T* const first = elements<T>(arrays.state[0]);
  T* const second = elements<T>(arrays.state[1]);
  HEDDLE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    step(weight[i], total[i], first, second, begin + i);
    total[i] = weight[i];
  }

  for (std::byte* const bytes : arrays.copies) {
    T* const copy = elements<T>(bytes) + begin;
    HEDDLE_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) copy[i] = total[i];
  }
}

/// Asks for the chunk at byte `at`, kWrite: to write it.
template <int kWrite>
HEDDLE_INLINE void fetch_chunk(const std::byte* array, std::size_t at) {
  if (array == nullptr) return;
  for (std::size_t line = 0; line < kChunkBytes; line += kLineBytes) {
    __builtin_prefetch(array + at + line, kWrite, 2);
  }
}

HEDDLE_INLINE void fetch(const StepArrays& arrays, std::size_t at) {
  for (const std::byte* const gradient : arrays.gradients) fetch_chunk<0>(gradient, at);
  fetch_chunk<1>(arrays.weight, at);
  for (const std::byte* const state : arrays.state) fetch_chunk<1>(state, at);
  for (const std::byte* const copy : arrays.copies) fetch_chunk<1>(copy, at);
}

template <class T, class Step>
void run(const StepArrays& arrays, const StepOptions& options) {
  vectorized(
      [](const StepArrays& a, const Step& step) HEDDLE_INLINE_LAMBDA {
        constexpr auto kChunk = static_cast<std::int64_t>(kChunkBytes / sizeof(T));
        constexpr auto kAhead = static_cast<std::int64_t>(kAheadBytes / sizeof(T));
        std::int64_t begin = 0;
        for (; begin + kChunk <= a.count; begin += kChunk) {
          const std::int64_t ahead = begin + kAhead;
          if (ahead + kChunk <= a.count) fetch(a, static_cast<std::size_t>(ahead) * sizeof(T));
          step_some<T>(a, step, begin, kChunk);
        }
        step_some<T>(a, step, begin, a.count - begin);
      },
      arrays, Step(options));
}

void expect_like_weight(const char* op, const char* argument, const NDArray& w, const NDArray& x) {
  common_device(op, {&w, &x});
  common_dtype(op, {&w, &x});
  expect_shape(op, argument, x, w.shape());
}

}  // namespace

StepKernel step_kernel(std::string_view op, StepRule rule, Device device, DType dtype) {
  const auto cpu = [&] {
    return pick_step(rule, [&]<template <class> class Step>() {
      return pick_floating(
          op, dtype, []<class T>(std::type_identity<T>) -> StepKernel { return &run<T, Step<T>>; });
    });
  };
  return kernel_for_device(op, device, cpu, [&] { return cuda::step_kernel(rule, dtype); });
}

Work step_work(StepRule rule, const NDArray& weight) {
  // As the formulas count, with the square root as one; gradient, weight and state are read, and
  // all but the gradient are written.
  const auto [flops, arrays] = rule == StepRule::kSgd        ? std::pair(4.0, 3U)
                               : rule == StepRule::kMomentum ? std::pair(6.0, 5U)
                                                             : std::pair(17.0, 7U);
  const Work once = work_on({&weight}, 0);
  return {.flops = flops * static_cast<double>(weight.size()), .bytes = arrays * once.bytes};
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

namespace {

std::byte* bytes_of(const NDArray& x) {
  return x ? static_cast<std::byte*>(ops::address(x)) : nullptr;
}

/// `first` and `second`: what the rule keeps, or NDArray{}.
void push_step(const char* op, ops::StepRule rule, const ops::StepOptions& options,
               const NDArray& w, const NDArray& g, const NDArray& first, const NDArray& second) {
  std::vector<Var> mutates = {w.var()};
  if (first) mutates.push_back(first.var());
  if (second) mutates.push_back(second.var());
  ops::launch_in_place(
      op, w.device(), {g.var()}, mutates, ops::step_work(rule, w),
      [kernel = ops::step_kernel(op, rule, w.device(), w.dtype()), w, g, first, second, options] {
        const auto* const gradient = static_cast<const std::byte*>(ops::const_address(g));
        kernel({.gradients = std::span(&gradient, 1),
                .weight = bytes_of(w),
                .state = {bytes_of(first), bytes_of(second)},
                .count = w.size()},
               options);
      });
}

}  // namespace

void sgd_update(const NDArray& w, const NDArray& g, double lr, double wd) {
  constexpr const char* kOp = "sgd_update";
  ops::expect_like_weight(kOp, "g", w, g);
  push_step(kOp, ops::StepRule::kSgd, {.lr = lr, .wd = wd}, w, g, {}, {});
}

void sgd_mom_update(const NDArray& w, const NDArray& g, const NDArray& m, double lr,
                    double momentum, double wd) {
  constexpr const char* kOp = "sgd_mom_update";
  ops::expect_like_weight(kOp, "g", w, g);
  ops::expect_like_weight(kOp, "m", w, m);
  const ops::StepOptions options{.lr = lr, .momentum = momentum, .wd = wd};
  push_step(kOp, ops::StepRule::kMomentum, options, w, g, m, {});
}

void adam_update(const NDArray& w, const NDArray& g, const NDArray& mean, const NDArray& var,
                 double lr, double beta1, double beta2, double eps, double wd, std::int64_t step) {
  constexpr const char* kOp = "adam_update";
  ops::expect_like_weight(kOp, "g", w, g);
  ops::expect_like_weight(kOp, "mean", w, mean);
  ops::expect_like_weight(kOp, "var", w, var);
  if (step < 1) ops::refuse(kOp, "step " + std::to_string(step) + ": expected 1 or more");
  const ops::StepOptions options = ops::adam_step(lr, beta1, beta2, eps, wd, step);
  push_step(kOp, ops::StepRule::kAdam, options, w, g, mean, var);
}

}  // namespace heddle
