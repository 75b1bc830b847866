#pragma once

#include <cstdint>
#include <memory>

#include "heddle/ndarray.h"

namespace heddle {

/// What the folders above ndarray/ may see of an array. NDArray{} is std::invalid_argument.
class ArrayAccess {
 public:
  /// The first element, whatever its type, to be written or read. When it may be called and
  /// touched: NDArray::data().
  static void* address(const NDArray& array);
  /// The same, to be read only.
  static const void* const_address(const NDArray& array);

  /// A view of the shape.size() elements of `array` from element `begin` on, in row-major order.
  /// Throws std::invalid_argument, naming `use`, if they do not lie inside.
  static NDArray view(const NDArray& array, Shape shape, std::int64_t begin, const char* use);

  /// True if `a` and `b` have elements of one block, and so one variable.
  static bool share_block(const NDArray& a, const NDArray& b);

  /// True if `array` has every element of its block. Only an operation that writes such arrays in
  /// full may be pushed with PushOptions::overwrites: a slice shares its variable with the rest.
  static bool covers_block(const NDArray& array);

  static const std::shared_ptr<detail::Storage>& storage(const NDArray& array);
  /// Bytes from the start of the block to the first element.
  static std::size_t begin_byte(const NDArray& array);
};

}  // namespace heddle
