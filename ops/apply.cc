#include <string>

#include "heddle/ops.h"

#include "ops/broadcast.h"
#include "ops/elementwise.h"
#include "ops/invoke.h"
#include "ops/promotion.h"

namespace heddle::ops {

namespace {

template <class Op>
auto kernel_of(const Op& op, DType dtype) {
  const auto kernel = op.kernels[index_of(dtype)];
  if (kernel == nullptr) {
    refuse(op.name, std::string("type ") + dtype_name(dtype) +
                        ": expected one that the operator has; astype() converts");
  }
  return kernel;
}

/// How many, as the flops of an operator that does one for each.
double elements(const NDArray& x) { return static_cast<double>(x.size()); }

/// The type that the kernel works in for a result of `dtype`.
DType working_dtype(DType dtype) { return is_half(dtype) ? DType::kFloat32 : dtype; }

/// Offset in bytes of an element; arithmetic on const char* keeps the kernels untyped.
const char* element(const void* base, std::int64_t index, std::size_t width) {
  return static_cast<const char*>(base) + index * static_cast<std::int64_t>(width);
}

/// A plan for operands that all have the result's shape.
BroadcastPlan plan_without_broadcast(std::int64_t size) {
  return {.outer = {}, .inner = {.size = size, .step = {1, 1, 1}}};
}

/// A binary operator for one type and device: the CPU's kernel, which takes rows, or CUDA's.
struct BinaryKernels {
  BinaryKernel rows = nullptr;  // null on a CUDA device
  CudaBinaryKernel cuda;

  void run(const void* a, const void* b, void* out, const BroadcastPlan& plan,
           std::size_t width) const {
    if (rows == nullptr) return cuda.arrays(a, b, out, plan);
    char* result = static_cast<char*>(out);
    for_each_row(plan, [&](const auto& from, std::int64_t to) {
      rows(element(a, from[0], width), plan.inner.step[0] != 0, element(b, from[1], width),
           plan.inner.step[1] != 0, result + to * static_cast<std::int64_t>(width),
           plan.inner.size);
    });
  }

  /// For x of n elements beside a scalar.
  void run(const void* x, const Element8& scalar, bool scalar_first, void* out,
           std::int64_t n) const {
    if (rows == nullptr) return cuda.scalar(x, scalar, scalar_first, out, n);
    const void* const value = scalar.bytes.data();
    rows(scalar_first ? value : x, !scalar_first, scalar_first ? x : value, scalar_first, out, n);
  }
};

BinaryKernels kernels_of(const BinaryOp& op, Device device, DType dtype) {
  BinaryKernels kernels{.rows = kernel_of(op, dtype), .cuda = {}};
  if (device::backend_of(device).runs_cpu_kernels()) return kernels;
  kernels = {.rows = nullptr, .cuda = op.cuda_kernel(dtype)};
  if (kernels.cuda.arrays == nullptr) detail::refuse_device(op.name, device);
  return kernels;
}

/// out = op(a, b) for operands of the working type and the output's device.
void launch_binary(const BinaryOp& op, const BinaryKernels& kernels, const NDArray& a,
                   const NDArray& b, const NDArray& out) {
  const double n = elements(out);
  if (a.shape() == b.shape()) {
    launch(op.name, out.device(), {a.var(), b.var()}, {out.var()}, work_on({&a, &b, &out}, n),
           [kernels, a, b, out] {
             kernels.run(const_address(a), const_address(b), address(out),
                         plan_without_broadcast(out.size()), dtype_size(out.dtype()));
           });
    return;
  }
  const Shape* shapes[] = {&a.shape(), &b.shape()};
  launch(op.name, out.device(), {a.var(), b.var()}, {out.var()}, work_on({&a, &b, &out}, n),
         [kernels, a, b, out, plan = plan_broadcast(out.shape(), shapes)] {
           kernels.run(const_address(a), const_address(b), address(out), plan,
                       dtype_size(out.dtype()));
         });
}

/// A scalar operand, converted for the array that it stands beside.
struct Plan {
  DType dtype;  // of the result
  DType working;
  BinaryKernels kernels;
  Element8 scalar;
};

Plan plan_with_scalar(const BinaryOp& op, const NDArray& x, Scalar scalar) {
  Plan plan{};
  plan.dtype = result_dtype(op.types, promote(op.name, x.dtype(), scalar));
  plan.working = working_dtype(plan.dtype);
  plan.kernels = kernels_of(op, x.device(), plan.working);
  plan.scalar = to_element(scalar, plan.working);
  return plan;
}

/// True if writing an element of `a` may change another element of `b`.
bool may_overlap(const NDArray& a, const NDArray& b) {
  if (!ArrayAccess::share_block(a, b)) return false;
  return a.shape() != b.shape() || a.dtype() != b.dtype() ||
         ArrayAccess::begin_byte(a) != ArrayAccess::begin_byte(b);
}

}  // namespace

NDArray apply(const UnaryOp& op, const NDArray& x) {
  const DType dtype = result_dtype(op.types, x.dtype());
  const DType working = working_dtype(dtype);
  const UnaryKernel kernel = kernel_for_device(
      op.name, x.device(), [&] { return kernel_of(op, working); },
      [&] { return op.cuda_kernel(working); });
  const NDArray from = x.astype(working);
  NDArray out = make_output(x.shape(), x.device(), working);
  launch(op.name, out.device(), {from.var()}, {out.var()}, work_on({&from, &out}, elements(out)),
         [kernel, from, out] { kernel(const_address(from), address(out), out.size()); });
  return out.astype(dtype);
}

NDArray apply(const BinaryOp& op, const NDArray& a, const NDArray& b) {
  const Device device = common_device(op.name, {&a, &b});
  const Shape* shapes[] = {&a.shape(), &b.shape()};
  const DType dtype = result_dtype(op.types, promote(a.dtype(), b.dtype()));
  const DType working = working_dtype(dtype);
  const BinaryKernels kernels = kernels_of(op, device, working);
  NDArray out = make_output(broadcast_shape(op.name, shapes), device, working);
  launch_binary(op, kernels, a.astype(working), b.astype(working), out);
  return out.astype(dtype);
}

NDArray apply(const BinaryOp& op, const NDArray& a, Scalar b) {
  const Plan plan = plan_with_scalar(op, a, b);
  const NDArray x = a.astype(plan.working);
  NDArray out = make_output(a.shape(), a.device(), plan.working);
  launch(op.name, out.device(), {x.var()}, {out.var()}, work_on({&x, &out}, elements(out)),
         [kernels = plan.kernels, scalar = plan.scalar, x, out] {
           kernels.run(const_address(x), scalar, false, address(out), out.size());
         });
  return out.astype(plan.dtype);
}

NDArray apply(const BinaryOp& op, Scalar a, const NDArray& b) {
  const Plan plan = plan_with_scalar(op, b, a);
  const NDArray y = b.astype(plan.working);
  NDArray out = make_output(b.shape(), b.device(), plan.working);
  launch(op.name, out.device(), {y.var()}, {out.var()}, work_on({&y, &out}, elements(out)),
         [kernels = plan.kernels, scalar = plan.scalar, y, out] {
           kernels.run(const_address(y), scalar, true, address(out), out.size());
         });
  return out.astype(plan.dtype);
}

NDArray apply_backward(const BinaryOp& op, const NDArray& grad, const NDArray& output) {
  const Device device = common_device(op.name, {&grad, &output});
  expect_shape(op.name, "output", output, grad.shape());
  const DType dtype = common_dtype(op.name, {&grad, &output});
  const BinaryKernels kernels = kernels_of(op, device, working_dtype(dtype));
  NDArray out = make_output(grad.shape(), device, working_dtype(dtype));
  launch_binary(op, kernels, grad.astype(out.dtype()), output.astype(out.dtype()), out);
  return out.astype(dtype);
}

void apply_in_place(const BinaryOp& op, const NDArray& a, const NDArray& b) {
  common_device(op.name, {&a, &b});
  const Shape* shapes[] = {&a.shape(), &b.shape()};
  const Shape shape = broadcast_shape(op.name, shapes);
  if (shape != a.shape()) {
    refuse(op.name, "in place on shape " + a.shape().str() + " with shape " + b.shape().str() +
                        ": expected a result of shape " + a.shape().str());
  }
  const DType dtype = result_dtype(op.types, promote(a.dtype(), b.dtype()));
  if (!can_store(dtype, a.dtype())) {
    refuse(op.name, std::string("in place: the result has type ") + dtype_name(dtype) +
                        ": expected one that " + dtype_name(a.dtype()) + " can hold");
  }
  if (dtype != a.dtype() || is_half(dtype) || may_overlap(a, b)) {
    a.copy_from(apply(op, a, b).astype(a.dtype()));
    return;
  }
  const NDArray operand = b.astype(dtype);
  const BinaryKernels kernels = kernels_of(op, a.device(), dtype);
  const Work work = work_on({&a, &operand, &a}, elements(a));
  if (a.shape() == operand.shape()) {
    launch_in_place(op.name, a.device(), {operand.var()}, {a.var()}, work, [kernels, a, operand] {
      void* to = address(a);
      kernels.run(to, const_address(operand), to, plan_without_broadcast(a.size()),
                  dtype_size(a.dtype()));
    });
    return;
  }
  launch_in_place(op.name, a.device(), {operand.var()}, {a.var()}, work,
                  [kernels, a, operand, plan = plan_broadcast(a.shape(), shapes)] {
                    void* to = address(a);
                    kernels.run(to, const_address(operand), to, plan, dtype_size(a.dtype()));
                  });
}

void apply_in_place(const BinaryOp& op, const NDArray& a, Scalar b) {
  const Plan plan = plan_with_scalar(op, a, b);
  if (!can_store(plan.dtype, a.dtype())) {
    refuse(op.name, std::string("in place: the result has type ") + dtype_name(plan.dtype) +
                        ": expected one that " + dtype_name(a.dtype()) + " can hold");
  }
  if (plan.working != a.dtype()) {
    a.copy_from(apply(op, a, b));
    return;
  }
  launch_in_place(op.name, a.device(), {}, {a.var()}, work_on({&a, &a}, elements(a)),
                  [kernels = plan.kernels, scalar = plan.scalar, a] {
                    void* to = address(a);
                    kernels.run(to, scalar, false, to, a.size());
                  });
}

}  // namespace heddle::ops

namespace heddle {

#define HEDDLE_UNARY(name, types, formula) \
  NDArray name(const NDArray& x) { return ops::apply(ops::name##_op, x); }
#define HEDDLE_BINARY(name, types, formula)                                                     \
  NDArray name(const NDArray& a, const NDArray& b) { return ops::apply(ops::name##_op, a, b); } \
  NDArray name(const NDArray& a, Scalar b) { return ops::apply(ops::name##_op, a, b); }         \
  NDArray name(Scalar a, const NDArray& b) { return ops::apply(ops::name##_op, a, b); }
#define HEDDLE_BACKWARD(name, types, formula)                 \
  NDArray name(const NDArray& grad, const NDArray& output) {  \
    return ops::apply_backward(ops::name##_op, grad, output); \
  }
#include "ops/ops.def"

}  // namespace heddle
