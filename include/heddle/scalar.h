#pragma once

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace heddle {

/// A number beside an array. Like a Python number in NumPy 2 it is weak: it takes the array's type
/// unless it is fractional and the array is of integers.
class Scalar {
 public:
  /// An integer above 2^63 - 1 is std::invalid_argument.
  template <class T>
  requires std::is_arithmetic_v<T> Scalar(T value)  // NOLINT(google-explicit-constructor)
      : real_(static_cast<double>(value)),
        integer_(std::is_integral_v<T> ? static_cast<std::int64_t>(value) : 0),
        is_integer_(std::is_integral_v<T>) {
    if constexpr (std::unsigned_integral<T>) {
      if (integer_ < 0) {
        throw std::invalid_argument("[Scalar] " + std::to_string(value) +
                                    ": expected at most 9223372036854775807");
      }
    }
  }

  bool is_integer() const { return is_integer_; }
  double real() const { return real_; }
  /// The exact value if is_integer(), else 0.
  std::int64_t integer() const { return integer_; }

 private:
  double real_;
  std::int64_t integer_;
  bool is_integer_;
};

}  // namespace heddle
