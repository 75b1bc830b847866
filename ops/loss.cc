#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/index.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/promotion.h"
#include "ops/reduce_row.h"

namespace heddle {

namespace ops {

namespace {

constexpr const char* kLoss = "softmax_cross_entropy";
constexpr const char* kGradient = "softmax_cross_entropy_backward";

/// log of the sum of e^x[i], shifted so that nothing overflows.
template <class T>
double log_sum_exp(const T* x, std::int64_t n) {
  double result = 0;
  vectorized(
      [](const T* from, std::int64_t count, double* out) HEDDLE_INLINE_LAMBDA {
        constexpr std::int64_t kChunk = 128;
        T powers[kChunk];
        const T greatest = reduce_row<Max<T>>(from, count);
        double sum = 0;
        for (std::int64_t begin = 0; begin < count; begin += kChunk) {
          const std::int64_t size = std::min(kChunk, count - begin);
          for (std::int64_t i = 0; i < size; ++i)
            powers[i] = exponential(from[begin + i] - greatest);
          sum += reduce_row<Sum<T>>(powers, size);
        }
        *out = static_cast<double>(greatest) + std::log(sum);
      },
      x, n, &result);
  return result;
}

template <class T>
void loss(const void* logits, const IndexReader& labels, void* out, std::int64_t rows,
          std::int64_t classes) {
  const T* x = static_cast<const T*>(logits);
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row, x += classes) {
    total += log_sum_exp(x, classes) - static_cast<double>(x[labels[row]]);
  }
  *static_cast<T*>(out) = static_cast<T>(total / static_cast<double>(rows));
}

/// out[i] = softmax(x)[i] * scale.
template <class T>
void scaled_softmax(const T* x, T* out, std::int64_t n, T scale) {
  vectorized(
      [](const T* from, T* to, std::int64_t count, T factor) HEDDLE_INLINE_LAMBDA {
        const T greatest = reduce_row<Max<T>>(from, count);
        HEDDLE_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) to[i] = exponential(from[i] - greatest);
        const T sum = static_cast<T>(reduce_row<Sum<T>>(to, count));
        HEDDLE_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] / sum * factor;
      },
      x, out, n, scale);
}

template <class T>
void gradient(const void* logits, const IndexReader& labels, void* out, std::int64_t rows,
              std::int64_t classes) {
  const T* x = static_cast<const T*>(logits);
  T* to = static_cast<T*>(out);
  const T scale = T{1} / static_cast<T>(rows);
  for (std::int64_t row = 0; row < rows; ++row, x += classes, to += classes) {
    const std::int64_t label = labels[row];
    scaled_softmax(x, to, classes, scale);
    to[label] -= scale;
  }
}

/// Checks, and pushes the kernel with `out_shape` for its result.
template <class Picker>
NDArray launch_loss(const char* op, const NDArray& logits, const NDArray& labels,
                    const Shape& out_shape, Picker pick, LossKernel (*cuda_kernel)(DType)) {
  const Device device = common_device(op, {&logits, &labels});
  const DType dtype = result_dtype(TypeRule::kFloating, logits.dtype());
  const NDArray x = logits.astype(is_half(dtype) ? DType::kFloat32 : dtype);
  const LossKernel kernel = kernel_for_device(
      op, device, [&] { return pick_floating(op, x.dtype(), pick); },
      [&] { return cuda_kernel(x.dtype()); });
  const NDArray indices = as_indices(labels);
  NDArray out = make_output(out_shape, device, x.dtype());
  launch(op, device, {x.var(), indices.var()}, {out.var()},
         work_on({&x, &indices, &out}, static_cast<double>(x.size())),
         [op, kernel, x, indices, out] {
           const std::int64_t rows = x.shape()[0];
           const std::int64_t classes = x.shape()[1];
           const IndexReader reader(op, "label", const_address(indices), indices.dtype(), classes);
           kernel(const_address(x), reader, address(out), rows, classes);
         });
  return out.astype(dtype);
}

void expect_rows(const char* op, const NDArray& logits, const NDArray& labels) {
  expect_ndim(op, "logits", logits, 2);
  if (logits.size() == 0) {
    refuse(op, "logits of shape " + logits.shape().str() + ": expected rows and classes");
  }
  expect_shape(op, "labels", labels, {logits.shape()[0]});
}

}  // namespace

}  // namespace ops

NDArray softmax_cross_entropy(const NDArray& logits, const NDArray& labels) {
  ops::expect_rows(ops::kLoss, logits, labels);
  return ops::launch_loss(
      ops::kLoss, logits, labels, Shape{},
      []<class T>(std::type_identity<T>) -> ops::LossKernel { return &ops::loss<T>; },
      ops::cuda::loss_kernel);
}

NDArray softmax_cross_entropy_backward(const NDArray& logits, const NDArray& labels) {
  ops::expect_rows(ops::kGradient, logits, labels);
  return ops::launch_loss(
      ops::kGradient, logits, labels, logits.shape(),
      []<class T>(std::type_identity<T>) -> ops::LossKernel { return &ops::gradient<T>; },
      ops::cuda::loss_gradient_kernel);
}

}  // namespace heddle
