#include <cstdint>
#include <string>
#include <type_traits>

#include "heddle/ops.h"

#include "ops/broadcast.h"
#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"
#include "ops/promotion.h"

namespace heddle {

namespace ops {

namespace {

constexpr const char* kOp = "where";

template <class T>
void select(const std::uint8_t* condition, const void* a, const void* b, void* out,
            const BroadcastPlan& plan) {
  for_each_row(plan, [&](const auto& from, std::int64_t to) {
    vectorized(
        [](const std::uint8_t* c, const T* x, const T* y, T* z, const BroadcastAxis& row)
            HEDDLE_INLINE_LAMBDA {
              HEDDLE_INDEPENDENT
              for (std::int64_t i = 0; i < row.size; ++i) {
                z[i] = c[i * row.step[0]] != 0 ? x[i * row.step[1]] : y[i * row.step[2]];
              }
            },
        condition + from[0], static_cast<const T*>(a) + from[1], static_cast<const T*>(b) + from[2],
        static_cast<T*>(out) + to, plan.inner);
  });
}

}  // namespace

}  // namespace ops

NDArray where(const NDArray& condition, const NDArray& a, const NDArray& b) {
  const Device device = ops::common_device(ops::kOp, {&condition, &a, &b});
  if (dtype_size(condition.dtype()) != 1) {
    ops::refuse(ops::kOp, std::string("condition of type ") + dtype_name(condition.dtype()) +
                              ": expected bool, int8 or uint8");
  }
  const DType dtype = ops::promote(a.dtype(), b.dtype());
  const Shape* shapes[] = {&condition.shape(), &a.shape(), &b.shape()};
  NDArray out = ops::make_output(ops::broadcast_shape(ops::kOp, shapes), device, dtype);
  const auto pick = []<class T>(std::type_identity<T>) -> ops::WhereKernel {
    return &ops::select<T>;
  };
  const auto kernel = ops::kernel_for_device(
      ops::kOp, device, [&] { return ops::pick_by_width(dtype, pick); },
      [&] { return ops::cuda::where_kernel(dtype); });
  const NDArray x = a.astype(dtype);
  const NDArray y = b.astype(dtype);
  ops::launch(ops::kOp, device, {condition.var(), x.var(), y.var()}, {out.var()},
              ops::work_on({&condition, &x, &y, &out}, 0),
              [kernel, condition, x, y, out, plan = ops::plan_broadcast(out.shape(), shapes)] {
                kernel(static_cast<const std::uint8_t*>(ops::const_address(condition)),
                       ops::const_address(x), ops::const_address(y), ops::address(out), plan);
              });
  return out;
}

}  // namespace heddle
