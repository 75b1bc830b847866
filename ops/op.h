#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::ops {

/// How the shape of the result follows from those of the operands.
enum class ShapeRule : std::uint8_t {
  kSame,       ///< that of the operands, which are equal
  kBroadcast,  ///< what the operands broadcast to
  kReduced,    ///< without the reduced axes
  kMatrix,     ///< by the rules of the matrix product
  kScalar,
  kInPlace,  ///< nothing new: operands are written
  kOwn,      ///< see heddle/ops.h
};

/// Which types an operator takes and makes.
enum class TypeRule : std::uint8_t {
  kNumeric,    ///< all; the result has the promoted type
  kFloating,   ///< all; integers become float64 first
  kBlas,       ///< float32 or float64, the same for all operands
  kAny,        ///< all, kept
  kToIndex,    ///< all; the result is int64
  kFromIndex,  ///< whole numbers of any type; the result is float32
};

/// One row of ops/ops.def.
struct OpInfo {
  std::string_view name;
  int arity;  ///< number of arrays; -1: any
  ShapeRule shape;
  TypeRule types;
  std::string_view summary;  ///< for element-wise operators: the formula
};

/// Every row, in the order of the table.
std::span<const OpInfo> all_ops();

}  // namespace heddle::ops
