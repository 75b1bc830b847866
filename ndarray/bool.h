#pragma once

#include <cstdint>

namespace heddle::detail {

/// An element of a kBool array: 0 or 1. As in NumPy its sum is "or", its product "and", and it has
/// no negative; ops/element.h has these.
enum class Bool : std::uint8_t {};

}  // namespace heddle::detail
