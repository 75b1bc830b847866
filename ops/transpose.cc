#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"

namespace heddle {

namespace ops {

namespace {

constexpr const char* kOp = "transpose";

/// Tile by tile, so that both sides stay in the first-level cache.
template <class T>
void transpose_matrix(const void* x, void* out, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kTile = 32;
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(out);
  for (std::int64_t row = 0; row < rows; row += kTile) {
    const std::int64_t row_end = std::min(row + kTile, rows);
    for (std::int64_t column = 0; column < columns; column += kTile) {
      const std::int64_t column_end = std::min(column + kTile, columns);
      for (std::int64_t j = column; j < column_end; ++j) {
        for (std::int64_t i = row; i < row_end; ++i) to[j * rows + i] = from[i * columns + j];
      }
    }
  }
}

template <class T>
T* permute_axis(const T* from, T* to, std::span<const PermutedAxis> axes, std::size_t axis) {
  if (axis == axes.size()) {
    *to = *from;
    return to + 1;
  }
  for (std::int64_t i = 0; i < axes[axis].size; ++i, from += axes[axis].step) {
    to = permute_axis(from, to, axes, axis + 1);
  }
  return to;
}

template <class T>
void permute(const void* x, void* out, std::span<const PermutedAxis> axes) {
  permute_axis(static_cast<const T*>(x), static_cast<T*>(out), axes, 0);
}

/// `axes` counted from the front, each once.
std::vector<int> resolve_axes(const Shape& shape, const std::vector<int>& axes) {
  const int ndim = shape.ndim();
  std::vector<int> resolved(axes);
  if (axes.empty()) {
    resolved.resize(static_cast<std::size_t>(ndim));
    std::iota(resolved.rbegin(), resolved.rend(), 0);
  }
  for (int& axis : resolved) axis = resolve_axis(kOp, axis, ndim);
  std::vector<int> sorted(resolved);
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (repeats || static_cast<int>(resolved.size()) != ndim) {
    refuse(kOp, std::to_string(axes.size()) + " axes for shape " + shape.str() +
                    ": expected each of its axes once");
  }
  return resolved;
}

}  // namespace

}  // namespace ops

NDArray transpose(const NDArray& x, const std::vector<int>& axes) {
  const Shape& shape = x.shape();
  const std::vector<int> order = ops::resolve_axes(shape, axes);
  std::vector<std::int64_t> dims;
  std::vector<ops::PermutedAxis> permuted;
  for (const int axis : order) {
    std::int64_t step = 1;
    for (int i = axis + 1; i < shape.ndim(); ++i) step *= shape[i];
    dims.push_back(shape[axis]);
    permuted.push_back({shape[axis], step});
  }
  NDArray out = ops::make_output(Shape(std::span<const std::int64_t>(dims)), x.device(), x.dtype());
  if (order == std::vector{1, 0}) {
    const auto pick = []<class T>(std::type_identity<T>) -> ops::MatrixKernel {
      return &ops::transpose_matrix<T>;
    };
    const auto kernel = ops::kernel_for_device(
        ops::kOp, x.device(), [&] { return ops::pick_by_width(x.dtype(), pick); },
        [&] { return ops::cuda::transpose_kernel(x.dtype()); });
    ops::launch(ops::kOp, out.device(), {x.var()}, {out.var()}, ops::work_on({&x, &out}, 0),
                [kernel, x, out] {
                  kernel(ops::const_address(x), ops::address(out), x.shape()[0], x.shape()[1]);
                });
    return out;
  }
  const auto pick = []<class T>(std::type_identity<T>) -> ops::PermuteKernel {
    return &ops::permute<T>;
  };
  const auto kernel = ops::kernel_for_device(
      ops::kOp, x.device(), [&] { return ops::pick_by_width(x.dtype(), pick); },
      [&] { return ops::cuda::permute_kernel(x.dtype()); });
  ops::launch(ops::kOp, out.device(), {x.var()}, {out.var()}, ops::work_on({&x, &out}, 0),
              [kernel, x, out, moved = std::move(permuted)] {
                kernel(ops::const_address(x), ops::address(out), moved);
              });
  return out;
}

}  // namespace heddle
