#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/ndarray.h"

#include "ops/dispatch.h"
#include "ops/kernels.h"
#include "ops/op.h"

namespace heddle::ops {

/// out[i] = f(a[i], b[i]) for i < n, where an operand that does not vary stays at its first
/// element. `out` may be an operand that varies.
using BinaryKernel = void (*)(const void* a, bool a_varies, const void* b, bool b_varies, void* out,
                              std::int64_t n);

/// A row of the table with its kernels: null for types that the operator does not have.
struct UnaryOp {
  std::string_view name;
  TypeRule types;
  std::array<UnaryKernel, kNumDTypes> kernels;
  UnaryKernel (*cuda_kernel)(DType dtype);
};
struct BinaryOp {
  std::string_view name;
  TypeRule types;
  std::array<BinaryKernel, kNumDTypes> kernels;
  CudaBinaryKernel (*cuda_kernel)(DType dtype);
};

#define HEDDLE_UNARY(name, types, formula) extern const UnaryOp name##_op;
#define HEDDLE_BINARY(name, types, formula) extern const BinaryOp name##_op;
#define HEDDLE_BACKWARD(name, types, formula) extern const BinaryOp name##_op;
#include "ops/ops.def"

/// What the functions of heddle/ops.h do.
NDArray apply(const UnaryOp& op, const NDArray& x);
NDArray apply(const BinaryOp& op, const NDArray& a, const NDArray& b);
NDArray apply(const BinaryOp& op, const NDArray& a, Scalar b);
NDArray apply(const BinaryOp& op, Scalar a, const NDArray& b);
/// As apply, but shapes and types must be equal.
NDArray apply_backward(const BinaryOp& op, const NDArray& grad, const NDArray& output);

/// a = op(a, b). The result must have the shape of `a` and be storable as its type.
void apply_in_place(const BinaryOp& op, const NDArray& a, const NDArray& b);
void apply_in_place(const BinaryOp& op, const NDArray& a, Scalar b);

}  // namespace heddle::ops
