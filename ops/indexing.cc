#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "heddle/ops.h"

#include "ops/index.h"
#include "ops/invoke.h"

namespace heddle {

namespace ops {

namespace {

/// An array seen as `outer` repetitions of blocks along one axis, in bytes.
struct Blocks {
  std::int64_t outer = 1;
  std::int64_t size = 1;  // of the axis
  std::size_t bytes = 0;  // of one step along the axis
};

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
                  const std::byte* from, std::byte* to) {
  const std::size_t stride = static_cast<std::size_t>(blocks.size) * blocks.bytes;
  for (std::int64_t o = 0; o < blocks.outer; ++o, from += stride) {
    for (std::int64_t i = 0; i < count; ++i, to += blocks.bytes) {
      std::memcpy(to, from + static_cast<std::size_t>(indices[i]) * blocks.bytes, blocks.bytes);
    }
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

void copy_side_by_side(const std::vector<NDArray>& arrays, int axis, std::byte* to) {
  const std::int64_t outer = blocks_of(arrays.front(), axis).outer;
  std::vector<std::pair<const std::byte*, std::size_t>> parts;  // where to read, bytes a time
  for (const NDArray& array : arrays) {
    const Blocks blocks = blocks_of(array, axis);
    parts.emplace_back(static_cast<const std::byte*>(address(array)),
                       static_cast<std::size_t>(blocks.size) * blocks.bytes);
  }
  for (std::int64_t o = 0; o < outer; ++o) {
    for (auto& [from, bytes] : parts) {
      std::memcpy(to, from, bytes);
      from += bytes;
      to += bytes;
    }
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
  ops::launch(kOp, device, {x.var(), positions.var()}, {out.var()}, [x, positions, out, axis] {
    const ops::Blocks blocks = ops::blocks_of(x, axis);
    const ops::IndexReader reader(kOp, "index", ops::address(positions), positions.dtype(),
                                  blocks.size);
    ops::copy_indexed(blocks, reader, positions.size(),
                      static_cast<const std::byte*>(ops::address(x)),
                      static_cast<std::byte*>(ops::address(out)));
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
  ops::launch(kOp, out.device(), {positions.var()}, {out.var()}, [positions, out, depth] {
    const ops::IndexReader reader(kOp, "index", ops::address(positions), positions.dtype(), depth);
    float* row = out.data<float>();
    std::fill_n(row, out.size(), 0.0F);
    for (std::int64_t i = 0; i < positions.size(); ++i, row += depth) row[reader[i]] = 1.0F;
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
  ops::launch(kOp, device, reads, {out.var()}, [arrays, out, axis] {
    ops::copy_side_by_side(arrays, axis, static_cast<std::byte*>(ops::address(out)));
  });
  return out;
}

}  // namespace heddle
