#include <cstring>
#include <type_traits>

#include "engine/device/cuda_for_each.h"
#include "engine/device/cuda_transform.h"
#include "ops/cuda_broadcast.h"
#include "ops/formulas.h"
#include "ops/kernels.h"
#include "ops/op.h"

namespace heddle::ops::cuda {
namespace {

using device::cuda_for_each;
using device::cuda_transform;

template <class F, class T>
void run_unary(const void* x, void* out, std::int64_t n) {
  cuda_transform(
      F::kName, n, static_cast<T*>(out), [] __device__(T a) { return F::apply(a); },
      static_cast<const T*>(x));
}

template <class F, class T>
void run_arrays(const void* a, const void* b, void* out, const BroadcastPlan& plan) {
  const T* const x = static_cast<const T*>(a);
  const T* const y = static_cast<const T*>(b);
  T* const to = static_cast<T*>(out);
  if (plan.outer.empty() && plan.inner.step[0] == 1 && plan.inner.step[1] == 1) {
    cuda_transform(
        F::kName, plan.inner.size, to, [] __device__(T c, T d) { return F::apply(c, d); }, x, y);
    return;
  }
  const CudaBroadcast broadcast(F::kName, plan);
  cuda_for_each(F::kName, broadcast.size(), [=] __device__(std::int64_t i) {
    const CudaBroadcast::Offsets at = broadcast.offsets(i);
    to[i] = F::apply(x[at.of[0]], y[at.of[1]]);
  });
}

template <class F, class T>
void run_scalar(const void* x, const Element8& scalar, bool scalar_first, void* out,
                std::int64_t n) {
  const T* const from = static_cast<const T*>(x);
  T* const to = static_cast<T*>(out);
  T s{};
  std::memcpy(&s, scalar.bytes.data(), sizeof(s));
  if (scalar_first) {
    cuda_transform(
        F::kName, n, to, [=] __device__(T a) { return F::apply(s, a); }, from);
  } else {
    cuda_transform(
        F::kName, n, to, [=] __device__(T a) { return F::apply(a, s); }, from);
  }
}

template <class F>
struct Unary {
  using Kernel = UnaryKernel;
  template <class T>
  static Kernel of() {
    if constexpr (requires(T x) { F::apply(x); }) return &run_unary<F, T>;
    return {};
  }
};

template <class F>
struct Binary {
  using Kernel = CudaBinaryKernel;
  template <class T>
  static Kernel of() {
    if constexpr (requires(T x) { F::apply(x, x); }) return {&run_arrays<F, T>, &run_scalar<F, T>};
    return {};
  }
};

/// Halves have no kernels of their own.
template <class Pick, TypeRule kTypes>
typename Pick::Kernel pick(DType dtype) {
  if (dtype == DType::kFloat32) return Pick::template of<float>();
  if (dtype == DType::kFloat64) return Pick::template of<double>();
  if constexpr (kTypes == TypeRule::kNumeric) {
    if (dtype == DType::kInt8) return Pick::template of<std::int8_t>();
    if (dtype == DType::kUInt8) return Pick::template of<std::uint8_t>();
    if (dtype == DType::kInt32) return Pick::template of<std::int32_t>();
    if (dtype == DType::kInt64) return Pick::template of<std::int64_t>();
    if (dtype == DType::kBool) return Pick::template of<Bool>();
  }
  return {};
}

}  // namespace

#define HEDDLE_UNARY(name, types, formula)                      \
  UnaryKernel name##_kernel(DType dtype) {                      \
    return pick<Unary<name##_formula>, TypeRule::types>(dtype); \
  }
#define HEDDLE_BINARY(name, types, formula)                      \
  CudaBinaryKernel name##_kernel(DType dtype) {                  \
    return pick<Binary<name##_formula>, TypeRule::types>(dtype); \
  }
#define HEDDLE_BACKWARD(name, types, formula) HEDDLE_BINARY(name, types, formula)
#include "ops/ops.def"

}  // namespace heddle::ops::cuda
