#include "ops/elementwise.h"

#include "ops/formulas.h"

namespace heddle::ops {

namespace {

template <class F, class T>
void run_unary(const void* x, void* out, std::int64_t n) {
  vectorized(
      [](const T* from, T* to, std::int64_t count) HEDDLE_INLINE_LAMBDA {
        HEDDLE_INDEPENDENT
        for (std::int64_t i = 0; i < count; ++i) to[i] = F::apply(from[i]);
      },
      static_cast<const T*>(x), static_cast<T*>(out), n);
}

template <class F, class T>
void run_binary(const void* a, bool a_varies, const void* b, bool b_varies, void* out,
                std::int64_t n) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* to = static_cast<T*>(out);
  if (a_varies && b_varies) {
    vectorized(
        [](const T* p, const T* q, T* r, std::int64_t count) HEDDLE_INLINE_LAMBDA {
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < count; ++i) r[i] = F::apply(p[i], q[i]);
        },
        x, y, to, n);
  } else if (a_varies) {
    vectorized(
        [](const T* p, T q, T* r, std::int64_t count) HEDDLE_INLINE_LAMBDA {
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < count; ++i) r[i] = F::apply(p[i], q);
        },
        x, n > 0 ? *y : T{}, to, n);
  } else {
    vectorized(
        [](T p, const T* q, bool q_varies, T* r, std::int64_t count) HEDDLE_INLINE_LAMBDA {
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < count; ++i) r[i] = F::apply(p, q[q_varies ? i : 0]);
        },
        n > 0 ? *x : T{}, y, b_varies, to, n);
  }
}

template <class F>
constexpr auto kPickUnary = []<class T>(std::type_identity<T>) -> UnaryKernel {
  if constexpr (requires(T x) { F::apply(x); }) return &run_unary<F, T>;
  return nullptr;
};

template <class F>
constexpr auto kPickBinary = []<class T>(std::type_identity<T>) -> BinaryKernel {
  if constexpr (requires(T x) { F::apply(x, x); }) return &run_binary<F, T>;
  return nullptr;
};

/// In the order of DType; halves have no kernels of their own.
template <class Kernel, TypeRule kTypes, class Picker>
constexpr std::array<Kernel, kNumDTypes> kernel_table(Picker pick) {
  std::array<Kernel, kNumDTypes> table{};
  const auto set = [&]<class T>(DType dtype, std::type_identity<T> type) {
    table[index_of(dtype)] = pick(type);
  };
  set(DType::kFloat32, std::type_identity<float>{});
  set(DType::kFloat64, std::type_identity<double>{});
  if constexpr (kTypes == TypeRule::kNumeric) {
    set(DType::kInt8, std::type_identity<std::int8_t>{});
    set(DType::kUInt8, std::type_identity<std::uint8_t>{});
    set(DType::kInt32, std::type_identity<std::int32_t>{});
    set(DType::kInt64, std::type_identity<std::int64_t>{});
    set(DType::kBool, std::type_identity<Bool>{});
  }
  return table;
}

}  // namespace

#define HEDDLE_UNARY(name, types, formula)                                    \
  constinit const UnaryOp name##_op = {                                       \
      #name, TypeRule::types,                                                 \
      kernel_table<UnaryKernel, TypeRule::types>(kPickUnary<name##_formula>), \
      &cuda::name##_kernel};
#define HEDDLE_BINARY(name, types, formula)                                     \
  constinit const BinaryOp name##_op = {                                        \
      #name, TypeRule::types,                                                   \
      kernel_table<BinaryKernel, TypeRule::types>(kPickBinary<name##_formula>), \
      &cuda::name##_kernel};
#define HEDDLE_BACKWARD(name, types, formula) HEDDLE_BINARY(name, types, formula)
#include "ops/ops.def"

}  // namespace heddle::ops
