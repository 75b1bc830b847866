#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "heddle/ops.h"

#include "ops/index.h"
#include "ops/invoke.h"
#include "ops/kernels.h"

namespace heddle {

namespace ops {

namespace {

Blocks blocks_of(const NDArray& x, int axis) {
  Blocks blocks{.size = x.shape()[axis], .bytes = dtype_size(x.dtype())};
  for (int i = 0; i < axis; ++i) blocks.outer *= x.shape()[i];
  for (int i = axis + 1; i < x.ndim(); ++i) {
    blocks.bytes *= static_cast<std::size_t>(x.shape()[i]);
  }
  return blocks;
}

Shape shape_of(const std::vector<std::int64_t>& dims) {
  return Shape(std::span<const std::int64_t>(dims));
}

void copy_indexed(const Blocks& blocks, const IndexReader& indices, std::int64_t count,
                  const void* source, void* target, std::size_t /*width*/) {
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const std::size_t stride = static_cast<std::size_t>(blocks.size) * blocks.bytes;
  for (std::int64_t o = 0; o < blocks.outer; ++o, from += stride) {
    for (std::int64_t i = 0; i < count; ++i, to += blocks.bytes) {
      std::memcpy(to, from + static_cast<std::size_t>(indices[i]) * blocks.bytes, blocks.bytes);
    }
  }
}

void set_ones(const IndexReader& indices, std::int64_t count, std::int64_t depth, float* row) {
  std::fill_n(row, count * depth, 0.0F);
  for (std::int64_t i = 0; i < count; ++i, row += depth) row[indices[i]] = 1.0F;
}

void copy_rows(const void* from, std::size_t from_pitch, void* to, std::size_t to_pitch,
               std::size_t bytes, std::int64_t rows) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  for (std::int64_t row = 0; row < rows; ++row, source += from_pitch, target += to_pitch) {
    std::memcpy(target, source, bytes);
  }
}

/// The shape of the result; throws unless the arrays fit together along `axis`.
Shape concat_shape(const std::vector<NDArray>& arrays, int axis) {
  const NDArray& first = arrays.front();
  const auto along = static_cast<std::size_t>(axis);
  std::vector<std::int64_t> dims = dims_of(first);
  dims[along] = 0;
  for (const NDArray& array : arrays) {
    common_dtype("concat", {&first, &array});
    std::vector<std::int64_t> expected = dims_of(array);
    if (along < expected.size()) expected[along] = first.shape()[axis];
    if (expected != dims_of(first)) {
      refuse("concat", "shapes " + first.shape().str() + " and " + array.shape().str() +
                           " along axis " + std::to_string(axis) +
                           ": expected equal sizes of all other axes");
    }
    dims[along] += array.shape()[axis];
  }
  return shape_of(dims);
}

void copy_side_by_side(CopyRowsKernel kernel, const std::vector<NDArray>& arrays, int axis,
                       const NDArray& out) {
  const auto row_bytes = [axis](const NDArray& array) {
    const Blocks blocks = blocks_of(array, axis);
    return static_cast<std::size_t>(blocks.size) * blocks.bytes;
  };
  const std::size_t pitch = row_bytes(out);
  auto* to = static_cast<std::byte*>(address(out));
  for (const NDArray& array : arrays) {
    const std::size_t bytes = row_bytes(array);
    kernel(const_address(array), bytes, to, pitch, bytes, blocks_of(array, axis).outer);
    to += bytes;
  }
}

}  // namespace

}  // namespace ops

NDArray take(const NDArray& x, const NDArray& indices, int axis) {
  constexpr const char* kOp = "take";
  const Device device = ops::common_device(kOp, {&x, &indices});
  axis = ops::resolve_axis(kOp, axis, x.ndim());
  std::vector<std::int64_t> dims = ops::dims_of(x);
  const auto at = dims.erase(dims.begin() + axis);
  dims.insert(at, indices.shape().dims().begin(), indices.shape().dims().end());
  NDArray out = ops::make_output(ops::shape_of(dims), device, x.dtype());
  const NDArray positions = ops::as_indices(indices);
  const auto kernel = ops::kernel_for_device(
      kOp, device, []() -> ops::TakeKernel { return &ops::copy_indexed; }, ops::cuda::take_kernel);
  ops::launch(kOp, device, {x.var(), positions.var()}, {out.var()},
              ops::work_on({&positions, &out, &out}, 0), [kernel, x, positions, out, axis] {
                const ops::Blocks blocks = ops::blocks_of(x, axis);
                const ops::IndexReader reader(kOp, "index", ops::const_address(positions),
                                              positions.dtype(), blocks.size);
                kernel(blocks, reader, positions.size(), ops::const_address(x), ops::address(out),
                       dtype_size(x.dtype()));
              });
  return out;
}

NDArray one_hot(const NDArray& indices, std::int64_t depth) {
  constexpr const char* kOp = "one_hot";
  if (depth < 1) ops::refuse(kOp, "depth " + std::to_string(depth) + ": expected 1 or more");
  std::vector<std::int64_t> dims = ops::dims_of(indices);
  dims.push_back(depth);
  NDArray out = ops::make_output(ops::shape_of(dims), indices.device(), DType::kFloat32);
  const NDArray positions = ops::as_indices(indices);
  const auto kernel = ops::kernel_for_device(
      kOp, out.device(), []() -> ops::OneHotKernel { return &ops::set_ones; },
      ops::cuda::one_hot_kernel);
  ops::launch(kOp, out.device(), {positions.var()}, {out.var()},
              ops::work_on({&positions, &out}, 0), [kernel, positions, out, depth] {
                const ops::IndexReader reader(kOp, "index", ops::const_address(positions),
                                              positions.dtype(), depth);
                kernel(reader, positions.size(), depth, out.data<float>());
              });
  return out;
}

NDArray concat(const std::vector<NDArray>& arrays, int axis) {
  constexpr const char* kOp = "concat";
  if (arrays.empty()) ops::refuse(kOp, "no arrays: expected at least one");
  std::vector<const NDArray*> pointers;
  std::vector<Var> reads;
  for (const NDArray& array : arrays) {
    pointers.push_back(&array);
    reads.push_back(array.var());
  }
  const Device device = ops::common_device(kOp, pointers);
  axis = ops::resolve_axis(kOp, axis, arrays.front().ndim());
  NDArray out = ops::make_output(ops::concat_shape(arrays, axis), device, arrays.front().dtype());
  const auto kernel = ops::kernel_for_device(
      kOp, device, []() -> ops::CopyRowsKernel { return &ops::copy_rows; },
      ops::cuda::copy_rows_kernel);
  ops::launch(kOp, device, reads, {out.var()}, ops::work_on({&out, &out}, 0),
              [kernel, arrays, out, axis] { ops::copy_side_by_side(kernel, arrays, axis, out); });
  return out;
}

}  // namespace heddle
