#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/promotion.h"
#include "ops/reduce_row.h"

namespace heddle {

namespace ops {

namespace {

/// Reduces `columns` <= kLanes neighbouring columns of n rows that are `stride` apart.
template <class R, class T>
HEDDLE_INLINE void reduce_columns(const T* x, std::int64_t n, std::int64_t stride,
                                  std::int64_t columns, typename R::Result* out) {
  typename R::Accumulator lanes[kLanes];
  for (auto& lane : lanes) lane = R::kStart;
  for (std::int64_t i = 0; i < n; ++i) {
    const T* row = x + i * stride;
    if (columns == kLanes) {
      for (std::int64_t k = 0; k < kLanes; ++k) lanes[k] = R::join(lanes[k], R::widen(row[k]));
    } else {
      for (std::int64_t k = 0; k < columns; ++k) lanes[k] = R::join(lanes[k], R::widen(row[k]));
    }
  }
  for (std::int64_t k = 0; k < columns; ++k) out[k] = R::finish(lanes[k], n);
}

template <class R, class T>
void reduce(const void* x, void* out, Extent extent) {
  vectorized(
      [](const T* from, typename R::Result* to, Extent e) HEDDLE_INLINE_LAMBDA {
        for (std::int64_t o = 0; o < e.outer; ++o, from += e.n * e.inner, to += e.inner) {
          if (e.inner == 1) {
            *to = R::finish(reduce_row<R>(from, e.n), e.n);
            continue;
          }
          for (std::int64_t column = 0; column < e.inner; column += kLanes) {
            const std::int64_t columns = std::min(kLanes, e.inner - column);
            reduce_columns<R>(from + column, e.n, e.inner, columns, to + column);
          }
        }
      },
      static_cast<const T*>(x), static_cast<typename R::Result*>(out), extent);
}

template <class T>
void argmax(const void* x, void* out, Extent extent) {
  const T* from = static_cast<const T*>(x);
  std::int64_t* to = static_cast<std::int64_t*>(out);
  for (std::int64_t o = 0; o < extent.outer; ++o, from += extent.n * extent.inner) {
    for (std::int64_t column = 0; column < extent.inner; ++column) {
      const T* first = from + column;
      T best = *first;
      std::int64_t position = 0;
      for (std::int64_t i = 1; i < extent.n && best == best; ++i) {
        const T value = first[i * extent.inner];
        if (value > best || value != value) {
          best = value;
          position = i;
        }
      }
      *to++ = position;
    }
  }
}

Extent extent_of(const Shape& shape, std::optional<int> axis) {
  if (!axis) return {.n = shape.size()};
  Extent extent{.n = shape[*axis]};
  for (int i = 0; i < *axis; ++i) extent.outer *= shape[i];
  for (int i = *axis + 1; i < shape.ndim(); ++i) extent.inner *= shape[i];
  return extent;
}

Shape reduced_shape(const Shape& shape, std::optional<int> axis, bool keepdims) {
  std::vector<std::int64_t> dims;
  for (int i = 0; i < shape.ndim(); ++i) {
    const bool reduced = !axis || *axis == i;
    if (!reduced) dims.push_back(shape[i]);
    if (reduced && keepdims) dims.push_back(1);
  }
  return Shape(std::span<const std::int64_t>(dims));
}

struct Request {
  std::string_view name;
  const NDArray& x;
  std::optional<int> axis;
  bool keepdims;
};

/// Reduces `from`, which is request.x in the type that the kernel takes.
NDArray launch_reduction(const Request& request, const NDArray& from, DType result,
                         ReduceKernel kernel) {
  const Shape& shape = from.shape();
  std::optional<int> axis = request.axis;
  if (axis) axis = resolve_axis(request.name, *axis, shape.ndim());
  NDArray out = make_output(reduced_shape(shape, axis, request.keepdims), from.device(), result);
  launch(request.name, out.device(), {from.var()}, {out.var()},
         work_on({&from, &out}, static_cast<double>(from.size())),
         [kernel, from, out, extent = extent_of(shape, axis)] {
           kernel(const_address(from), address(out), extent);
         });
  return out;
}

DType working_dtype(TypeRule rule, DType dtype) {
  return is_half(dtype) ? DType::kFloat32 : result_dtype(rule, dtype);
}

/// Throws where an axis of no elements leaves nothing to choose from.
void expect_elements(const Request& request) {
  const Shape& shape = request.x.shape();
  std::optional<int> axis = request.axis;
  if (axis) axis = resolve_axis(request.name, *axis, shape.ndim());
  if (extent_of(shape, axis).n > 0) return;
  refuse(request.name, "shape " + shape.str() +
                           (axis ? " over axis " + std::to_string(*axis) : std::string()) +
                           ": expected at least one element to choose from");
}

/// max, min and argmax.
template <class Picker>
NDArray choose(const Request& request, Reduction reduction, std::optional<DType> result,
               Picker pick) {
  expect_elements(request);
  const DType working = working_dtype(TypeRule::kNumeric, request.x.dtype());
  const ReduceKernel kernel = kernel_for_device(
      request.name, request.x.device(), [&] { return pick_numeric(request.name, working, pick); },
      [&] { return cuda::reduce_kernel(reduction, working); });
  const NDArray out =
      launch_reduction(request, request.x.astype(working), result.value_or(working), kernel);
  return result ? out : out.astype(request.x.dtype());
}

}  // namespace

}  // namespace ops

NDArray sum(const NDArray& x, std::optional<int> axis, bool keepdims) {
  const DType working = ops::working_dtype(ops::TypeRule::kNumeric, x.dtype());
  const bool floating = ops::is_floating(working);
  const auto pick = []<class T>(std::type_identity<T>) -> ops::ReduceKernel {
    return &ops::reduce<ops::Sum<T>, T>;
  };
  const auto kernel = ops::kernel_for_device(
      "sum", x.device(), [&] { return ops::pick_numeric("sum", working, pick); },
      [&] { return ops::cuda::reduce_kernel(ops::Reduction::kSum, working); });
  const NDArray out = ops::launch_reduction({"sum", x, axis, keepdims}, x.astype(working),
                                            floating ? working : DType::kInt64, kernel);
  return floating ? out.astype(x.dtype()) : out;
}

NDArray mean(const NDArray& x, std::optional<int> axis, bool keepdims) {
  const DType working = ops::working_dtype(ops::TypeRule::kFloating, x.dtype());
  const auto pick = []<class T>(std::type_identity<T>) -> ops::ReduceKernel {
    return &ops::reduce<ops::Mean<T>, T>;
  };
  const auto kernel = ops::kernel_for_device(
      "mean", x.device(), [&] { return ops::pick_floating("mean", working, pick); },
      [&] { return ops::cuda::reduce_kernel(ops::Reduction::kMean, working); });
  const NDArray out =
      ops::launch_reduction({"mean", x, axis, keepdims}, x.astype(working), working, kernel);
  return out.astype(ops::result_dtype(ops::TypeRule::kFloating, x.dtype()));
}

NDArray max(const NDArray& x, std::optional<int> axis, bool keepdims) {
  return ops::choose({"max", x, axis, keepdims}, ops::Reduction::kMax, {},
                     []<class T>(std::type_identity<T>) -> ops::ReduceKernel {
                       return &ops::reduce<ops::Max<T>, T>;
                     });
}

NDArray min(const NDArray& x, std::optional<int> axis, bool keepdims) {
  return ops::choose({"min", x, axis, keepdims}, ops::Reduction::kMin, {},
                     []<class T>(std::type_identity<T>) -> ops::ReduceKernel {
                       return &ops::reduce<ops::Min<T>, T>;
                     });
}

NDArray argmax(const NDArray& x, std::optional<int> axis, bool keepdims) {
  return ops::choose(
      {"argmax", x, axis, keepdims}, ops::Reduction::kArgmax, DType::kInt64,
      []<class T>(std::type_identity<T>) -> ops::ReduceKernel { return &ops::argmax<T>; });
}

}  // namespace heddle
