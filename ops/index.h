#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "heddle/ndarray.h"

#include "ops/promotion.h"
#include "ops/vectorize.h"

// Class labels and indices: whole numbers in arrays of any type.

namespace heddle::ops {

/// `x` in a type that IndexReader reads.
inline NDArray as_indices(const NDArray& x) {
  return is_half(x.dtype()) ? x.astype(DType::kFloat32) : x;
}

/// True for whole numbers in [0, limit).
template <class T>
HEDDLE_INLINE bool is_index(T value, std::int64_t limit) {
  bool valid = value >= T{} && static_cast<double>(value) < static_cast<double>(limit);
  if constexpr (std::floating_point<T>) valid = valid && value == std::floor(value);
  return valid;
}

/// Reads elements as whole numbers in [0, limit); anything else is std::out_of_range, which says
/// "[op] what …". For use inside an operation.
class IndexReader {
 public:
  IndexReader(std::string_view op, std::string_view what, const void* elements, DType dtype,
              std::int64_t limit)
      : op_(op), what_(what), elements_(elements), dtype_(dtype), limit_(limit) {}

  std::int64_t operator[](std::int64_t i) const {
    switch (dtype_) {
      case DType::kInt64:
        return read<std::int64_t>(i);
      case DType::kInt32:
        return read<std::int32_t>(i);
      case DType::kInt8:
        return read<std::int8_t>(i);
      case DType::kFloat32:
        return read<float>(i);
      case DType::kFloat64:
        return read<double>(i);
      default:
        return read<std::uint8_t>(i);
    }
  }

  // For kernels that read the elements themselves.
  const void* elements() const { return elements_; }
  DType dtype() const { return dtype_; }
  std::int64_t limit() const { return limit_; }
  /// Throws the error of an element that is no index.
  [[noreturn]] void fail(double value, std::int64_t i) const {
    const bool floating = dtype_ == DType::kFloat32 || dtype_ == DType::kFloat64;
    refuse(floating ? std::to_string(value) : std::to_string(static_cast<std::int64_t>(value)), i);
  }

 private:
  template <class T>
  std::int64_t read(std::int64_t i) const {
    const T value = static_cast<const T*>(elements_)[i];
    if (!is_index(value, limit_)) refuse(std::to_string(value), i);
    return static_cast<std::int64_t>(value);
  }

  [[noreturn]] void refuse(const std::string& value, std::int64_t i) const {
    throw std::out_of_range("[" + std::string(op_) + "] " + std::string(what_) + " " + value +
                            " at position " + std::to_string(i) +
                            ": expected a whole number >= 0 and < " + std::to_string(limit_));
  }

  std::string_view op_;
  std::string_view what_;
  const void* elements_;
  DType dtype_;
  std::int64_t limit_;
};

}  // namespace heddle::ops
