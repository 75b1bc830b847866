#include <cstdint>
#include <type_traits>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/promotion.h"
#include "ops/reduce_row.h"

namespace heddle {

namespace ops {

namespace {

template <class T>
void softmax(const void* x, void* out, std::int64_t rows, std::int64_t n) {
  vectorized(
      [](const T* from, T* to, std::int64_t count, std::int64_t width) HEDDLE_INLINE_LAMBDA {
        for (std::int64_t row = 0; row < count; ++row, from += width, to += width) {
          const T greatest = reduce_row<Max<T>>(from, width);
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < width; ++i) to[i] = exponential(from[i] - greatest);
          const T sum = static_cast<T>(reduce_row<Sum<T>>(to, width));
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < width; ++i) to[i] = to[i] / sum;
        }
      },
      static_cast<const T*>(x), static_cast<T*>(out), rows, n);
}

template <class T>
void log_softmax(const void* x, void* out, std::int64_t rows, std::int64_t n) {
  vectorized(
      [](const T* from, T* to, std::int64_t count, std::int64_t width) HEDDLE_INLINE_LAMBDA {
        for (std::int64_t row = 0; row < count; ++row, from += width, to += width) {
          const T greatest = reduce_row<Max<T>>(from, width);
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < width; ++i) to[i] = exponential(from[i] - greatest);
          const T log_sum = static_cast<T>(std::log(reduce_row<Sum<T>>(to, width)));
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < width; ++i) to[i] = (from[i] - greatest) - log_sum;
        }
      },
      static_cast<const T*>(x), static_cast<T*>(out), rows, n);
}

template <class Picker>
NDArray apply_to_rows(std::string_view op, const NDArray& x, Picker pick,
                      RowsKernel (*cuda_kernel)(DType)) {
  const DType dtype = result_dtype(TypeRule::kFloating, x.dtype());
  const NDArray from = x.astype(is_half(dtype) ? DType::kFloat32 : dtype);
  const RowsKernel kernel = kernel_for_device(
      op, x.device(), [&] { return pick_floating(op, from.dtype(), pick); },
      [&] { return cuda_kernel(from.dtype()); });
  if (x.ndim() == 0) refuse(op, "shape (): expected at least 1 dimension");
  NDArray out = make_output(x.shape(), x.device(), from.dtype());
  const std::int64_t n = x.shape()[-1];
  const std::int64_t rows = n == 0 ? 0 : x.size() / n;
  launch(op, out.device(), {from.var()}, {out.var()},
         work_on({&from, &out}, static_cast<double>(from.size())),
         [kernel, from, out, rows, n] { kernel(const_address(from), address(out), rows, n); });
  return out.astype(dtype);
}

}  // namespace

}  // namespace ops

NDArray softmax(const NDArray& x) {
  return ops::apply_to_rows(
      "softmax", x,
      []<class T>(std::type_identity<T>) -> ops::RowsKernel { return &ops::softmax<T>; },
      ops::cuda::softmax_kernel);
}

NDArray log_softmax(const NDArray& x) {
  return ops::apply_to_rows(
      "log_softmax", x,
      []<class T>(std::type_identity<T>) -> ops::RowsKernel { return &ops::log_softmax<T>; },
      ops::cuda::log_softmax_kernel);
}

}  // namespace heddle
