#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/dtype.h"

#include "ops/broadcast.h"
#include "ops/matmul.h"
#include "ops/optimizer.h"
#include "ops/philox.h"
#include "ops/promotion.h"

// What kernels look like to the operators, and the kernels of CUDA devices. Those are called inside
// an operation of such a device with addresses on it, and enqueue on the operation's stream. The
// build chooses the files that define them: .cu beside the operators, or no_cuda.cc, where all are
// null. Types that an operator does not have are null, too.

namespace heddle::ops {

class IndexReader;

/// out[i] = f(x[i]) for i < n. `out` may be `x`.
using UnaryKernel = void (*)(const void* x, void* out, std::int64_t n);

/// A BinaryOp on a CUDA device. `out` may be an operand that does not broadcast.
struct CudaBinaryKernel {
  void (*arrays)(const void* a, const void* b, void* out, const BroadcastPlan& plan) = nullptr;
  void (*scalar)(const void* x, const Element8& scalar, bool scalar_first, void* out,
                 std::int64_t n) = nullptr;
};

/// x seen as (outer, n, inner), to be reduced over n.
struct Extent {
  std::int64_t outer = 1;
  std::int64_t n = 1;
  std::int64_t inner = 1;
};
using ReduceKernel = void (*)(const void* x, void* out, Extent extent);
enum class Reduction : std::uint8_t { kSum, kMean, kMax, kMin, kArgmax };

/// Rows of n elements each.
using RowsKernel = void (*)(const void* x, void* out, std::int64_t rows, std::int64_t n);

using LossKernel = void (*)(const void* logits, const IndexReader& labels, void* out,
                            std::int64_t rows, std::int64_t classes);

using DotKernel = void (*)(const MatmulSizes&, const void* a, const void* b, void* out);
/// out = x weight^T + bias
using ForwardKernel = void (*)(const MatmulSizes&, const void* x, const void* weight,
                               const void* bias, void* out);
/// weight = grad^T x; bias = the sum of grad's rows
using WeightKernel = void (*)(const MatmulSizes&, const void* grad, const void* x, void* weight,
                              void* bias);

using MatrixKernel = void (*)(const void* x, void* out, std::int64_t rows, std::int64_t columns);
/// One axis of the result: its size and how far it moves in the operand.
struct PermutedAxis {
  std::int64_t size;
  std::int64_t step;
};
using PermuteKernel = void (*)(const void* x, void* out, std::span<const PermutedAxis> axes);

/// One array per operand: condition, a, b.
using WhereKernel = void (*)(const std::uint8_t* condition, const void* a, const void* b, void* out,
                             const BroadcastPlan& plan);

/// An array seen as `outer` repetitions of blocks along one axis, in bytes.
struct Blocks {
  std::int64_t outer = 1;
  std::int64_t size = 1;  // of the axis
  std::size_t bytes = 0;  // of one step along the axis
};
/// `width` divides the bytes, and both sides are aligned to it.
using TakeKernel = void (*)(const Blocks& blocks, const IndexReader& indices, std::int64_t count,
                            const void* from, void* to, std::size_t width);
using OneHotKernel = void (*)(const IndexReader& indices, std::int64_t count, std::int64_t depth,
                              float* out);
/// Rows of `bytes` each, that lie `from_pitch` and `to_pitch` apart.
using CopyRowsKernel = void (*)(const void* from, std::size_t from_pitch, void* to,
                                std::size_t to_pitch, std::size_t bytes, std::int64_t rows);

using DrawKernel = void (*)(const PhiloxPosition& start, float a, float b, float* out,
                            std::int64_t n);
using BernoulliKernel = void (*)(const PhiloxPosition& start, double p, float* out, std::int64_t n);
using IntegersKernel = void (*)(const PhiloxPosition& start, std::int64_t low, std::int64_t high,
                                std::int64_t* out, std::int64_t n);

namespace cuda {

#define HEDDLE_UNARY(name, types, formula) UnaryKernel name##_kernel(DType dtype);
#define HEDDLE_BINARY(name, types, formula) CudaBinaryKernel name##_kernel(DType dtype);
#define HEDDLE_BACKWARD(name, types, formula) CudaBinaryKernel name##_kernel(DType dtype);
#include "ops/ops.def"

ReduceKernel reduce_kernel(Reduction reduction, DType dtype);
RowsKernel softmax_kernel(DType dtype);
RowsKernel log_softmax_kernel(DType dtype);
LossKernel loss_kernel(DType dtype);
LossKernel loss_gradient_kernel(DType dtype);
DotKernel dot_kernel(DType dtype);
ForwardKernel fully_connected_kernel(DType dtype);
WeightKernel weight_gradient_kernel(DType dtype);
StepKernel step_kernel(StepRule rule, DType dtype);
MatrixKernel transpose_kernel(DType dtype);
PermuteKernel permute_kernel(DType dtype);
WhereKernel where_kernel(DType dtype);
TakeKernel take_kernel();
OneHotKernel one_hot_kernel();
CopyRowsKernel copy_rows_kernel();
DrawKernel uniform_kernel();
DrawKernel normal_kernel();
BernoulliKernel bernoulli_kernel();
IntegersKernel integers_kernel();

}  // namespace cuda

}  // namespace heddle::ops
