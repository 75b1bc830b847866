#include "ops/promotion.h"

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "ops/dispatch.h"

namespace heddle::ops {

namespace {

enum Kind { kBoolKind, kUnsignedKind, kSignedKind, kFloatKind };

Kind kind_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return kBoolKind;
    case DType::kUInt8:
      return kUnsignedKind;
    case DType::kInt8:
    case DType::kInt32:
    case DType::kInt64:
      return kSignedKind;
    default:
      return kFloatKind;
  }
}

DType promote_with_integer(DType floating, DType integer) {
  return dtype_size(integer) == 1 ? floating : DType::kFloat64;
}

template <class T>
bool holds(std::int64_t value) {
  return std::in_range<T>(value);
}

bool holds(DType dtype, std::int64_t value) {
  switch (dtype) {
    case DType::kInt8:
      return holds<std::int8_t>(value);
    case DType::kUInt8:
      return holds<std::uint8_t>(value);
    case DType::kInt32:
      return holds<std::int32_t>(value);
    default:
      return true;
  }
}

template <class T>
Element8 store(T value) {
  Element8 element;
  std::memcpy(element.bytes.data(), &value, sizeof(value));
  return element;
}

}  // namespace

bool is_floating(DType dtype) { return kind_of(dtype) == kFloatKind; }

bool is_half(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

DType promote(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (is_floating(a) && is_floating(b)) {
    if (a == DType::kFloat64 || b == DType::kFloat64) return DType::kFloat64;
    return DType::kFloat32;
  }
  if (is_floating(a)) return promote_with_integer(a, b);
  if (is_floating(b)) return promote_with_integer(b, a);
  if (dtype_size(a) == 1 && dtype_size(b) == 1) return DType::kInt32;
  return dtype_size(a) > dtype_size(b) ? a : b;
}

DType promote(std::string_view op, DType dtype, Scalar scalar) {
  if (is_floating(dtype)) return dtype;
  if (!scalar.is_integer()) return DType::kFloat64;
  if (dtype == DType::kBool) return DType::kInt64;
  if (!holds(dtype, scalar.integer())) {
    refuse(op, "scalar " + std::to_string(scalar.integer()) + " beside an array of type " +
                   dtype_name(dtype) + ": expected a value of that type");
  }
  return dtype;
}

DType result_dtype(TypeRule rule, DType dtype) {
  return rule == TypeRule::kFloating && !is_floating(dtype) ? DType::kFloat64 : dtype;
}

bool can_store(DType from, DType to) { return kind_of(from) <= kind_of(to); }

Element8 to_element(Scalar scalar, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return store(static_cast<float>(scalar.real()));
    case DType::kInt8:
      return store(static_cast<std::int8_t>(scalar.integer()));
    case DType::kUInt8:
      return store(static_cast<std::uint8_t>(scalar.integer()));
    case DType::kInt32:
      return store(static_cast<std::int32_t>(scalar.integer()));
    case DType::kInt64:
      return store(scalar.integer());
    default:
      return store(scalar.real());
  }
}

}  // namespace heddle::ops
