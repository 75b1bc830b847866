#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "heddle/dtype.h"

#include "ndarray/bool.h"

namespace heddle::detail {

/// Calls `visitor` with std::type_identity of the type that the elements of `dtype` have.
template <class Visitor>
decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::kFloat32:
      return visitor(std::type_identity<float>{});
    case DType::kFloat64:
      return visitor(std::type_identity<double>{});
    case DType::kFloat16:
      return visitor(std::type_identity<float16>{});
    case DType::kBFloat16:
      return visitor(std::type_identity<bfloat16>{});
    case DType::kInt8:
      return visitor(std::type_identity<std::int8_t>{});
    case DType::kUInt8:
      return visitor(std::type_identity<std::uint8_t>{});
    case DType::kInt32:
      return visitor(std::type_identity<std::int32_t>{});
    case DType::kInt64:
      return visitor(std::type_identity<std::int64_t>{});
    case DType::kBool:
      return visitor(std::type_identity<Bool>{});
  }
  throw std::invalid_argument("[DType] " + std::to_string(static_cast<int>(dtype)) +
                              ": expected one of the enumerators");
}

}  // namespace heddle::detail
