#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "heddle/dtype.h"

#include "ops/element.h"
#include "ops/invoke.h"

// From a DType to the kernel that was compiled for it. A picker is a callable that takes
// std::type_identity<T> and returns a function pointer, the same type for every T.

namespace heddle::ops {

inline constexpr std::size_t kNumDTypes = static_cast<std::size_t>(DType::kBool) + 1;

constexpr std::size_t index_of(DType dtype) { return static_cast<std::size_t>(dtype); }

/// The kernel for float32 or float64; anything else is std::invalid_argument.
template <class Picker>
auto pick_floating(std::string_view op, DType dtype, Picker pick) {
  switch (dtype) {
    case DType::kFloat32:
      return pick(std::type_identity<float>{});
    case DType::kFloat64:
      return pick(std::type_identity<double>{});
    default:
      refuse(op, std::string("type ") + dtype_name(dtype) + ": expected float32 or float64");
  }
}

/// The kernel for any type with arithmetic of its own (not float16 and bfloat16).
template <class Picker>
auto pick_numeric(std::string_view op, DType dtype, Picker pick) {
  switch (dtype) {
    case DType::kInt8:
      return pick(std::type_identity<std::int8_t>{});
    case DType::kUInt8:
      return pick(std::type_identity<std::uint8_t>{});
    case DType::kInt32:
      return pick(std::type_identity<std::int32_t>{});
    case DType::kInt64:
      return pick(std::type_identity<std::int64_t>{});
    case DType::kBool:
      return pick(std::type_identity<Bool>{});
    default:
      return pick_floating(op, dtype, pick);
  }
}

/// An unsigned integer as wide as an element, for kernels that only move elements.
template <class Picker>
auto pick_by_width(DType dtype, Picker pick) {
  switch (dtype_size(dtype)) {
    case 1:
      return pick(std::type_identity<std::uint8_t>{});
    case 2:
      return pick(std::type_identity<std::uint16_t>{});
    case 4:
      return pick(std::type_identity<std::uint32_t>{});
    default:
      return pick(std::type_identity<std::uint64_t>{});
  }
}

}  // namespace heddle::ops
