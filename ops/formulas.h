#pragma once

#include "ops/element.h"

// The formulas of the table as functions of elements, one struct a row. Substitution into the
// trailing type fails for the element types that a formula does not fit.

namespace heddle::ops {

#define HEDDLE_UNARY(name, types, formula)                                      \
  struct name##_formula {                                                       \
    static constexpr const char* kName = #name;                                 \
    template <class T>                                                          \
    static HEDDLE_INLINE auto apply(T x) -> decltype(static_cast<T>(formula)) { \
      return static_cast<T>(formula);                                           \
    }                                                                           \
  };
#define HEDDLE_BINARY(name, types, formula)                                          \
  struct name##_formula {                                                            \
    static constexpr const char* kName = #name;                                      \
    template <class T>                                                               \
    static HEDDLE_INLINE auto apply(T a, T b) -> decltype(static_cast<T>(formula)) { \
      return static_cast<T>(formula);                                                \
    }                                                                                \
  };
#define HEDDLE_BACKWARD(name, types, formula) HEDDLE_BINARY(name, types, formula)
#include "ops/ops.def"

}  // namespace heddle::ops
