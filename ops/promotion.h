#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "heddle/dtype.h"
#include "heddle/scalar.h"

#include "ops/op.h"

namespace heddle::ops {

bool is_floating(DType dtype);
/// float16 and bfloat16: stored, and computed with as float32.
bool is_half(DType dtype);

/// The type that both convert to without loss, as in NumPy 2, where there is one: int32 and wider
/// with float32 give float64; int8 with uint8 give int32, float16 with bfloat16 float32.
DType promote(DType a, DType b);

/// The type of an array of `dtype` combined with a scalar, which is weak: it changes bool, and
/// integers if it is not an integer itself. An integer outside of an integer type is
/// std::invalid_argument that names `op`.
DType promote(std::string_view op, DType dtype, Scalar scalar);

/// The type of the result of an operator whose operands promote to `dtype`.
DType result_dtype(TypeRule rule, DType dtype);

/// True if NumPy's "same_kind" rule lets an in-place operation store `from` as `to`: never from
/// floating to integer, from signed to unsigned or from number to bool.
bool can_store(DType from, DType to);

/// One element of any type.
struct Element8 {
  alignas(8) std::array<std::byte, 8> bytes{};
};
/// `scalar` as an element of `dtype`, which is not a half.
Element8 to_element(Scalar scalar, DType dtype);

}  // namespace heddle::ops
