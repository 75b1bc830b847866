#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace heddle {

/// Element types. kBool elements are std::uint8_t of 0 or 1.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kUInt8,
  kInt32,
  kInt64,
  kBool,
};

/// Bytes per element.
std::size_t dtype_size(DType dtype);
/// "float32", "bool", …
const char* dtype_name(DType dtype);

namespace detail {
constexpr std::uint16_t half_bits(float value);
constexpr float half_value(std::uint16_t bits);
constexpr std::uint16_t upper_bits(float value);
}  // namespace detail

/// IEEE binary16: a storage type, computed with as float. Conversion rounds to nearest even; a NaN
/// stays one.
class float16 {
 public:
  float16() = default;
  constexpr explicit float16(float value) : bits_(detail::half_bits(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): widening loses nothing
  constexpr operator float() const { return detail::half_value(bits_); }
  static constexpr float16 from_bits(std::uint16_t bits) {
    float16 value;
    value.bits_ = bits;
    return value;
  }
  constexpr std::uint16_t bits() const { return bits_; }

 private:
  std::uint16_t bits_ = 0;
};

/// The upper half of a binary32: a storage type, computed with as float. Conversion rounds to
/// nearest even; a NaN stays one.
class bfloat16 {
 public:
  bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits_(detail::upper_bits(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): widening loses nothing
  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16U);
  }
  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 value;
    value.bits_ = bits;
    return value;
  }
  constexpr std::uint16_t bits() const { return bits_; }

 private:
  std::uint16_t bits_ = 0;
};

namespace detail {

constexpr std::uint16_t half_bits(float value) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  constexpr std::uint32_t kTwoTo16 = 0x47800000;  // all from here on are infinite
  constexpr std::uint32_t kLeastNormal = 0x38800000;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > kInfinity) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | (magnitude >> 13U & 0x3FFU));
  }
  if (magnitude >= kTwoTo16) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < kLeastNormal) {
    // Between 0.5 and 1 the spacing of floats is that of the denormal halves: the sum rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) & 0x7FFU));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13U & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - (112U << 23U)) >> 13U);
}

constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude < 0x400U) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  const std::uint32_t exponent_shift = magnitude < 0x7C00U ? 112U : 224U;
  return std::bit_cast<float>(sign | ((magnitude << 13U) + (exponent_shift << 23U)));
}

constexpr std::uint16_t upper_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

template <class T>
struct DTypeOf;  // defined for the element types only
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType kValue = DType::kFloat16;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType kValue = DType::kBFloat16;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType kValue = DType::kInt8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType kValue = DType::kUInt8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
}  // namespace detail

template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::kValue;

/// The types that arrays are made from and read into. bool has no element type of its own:
/// read and write kBool arrays as std::uint8_t.
template <class T>
concept Element = requires {
  detail::DTypeOf<T>::kValue;
};

}  // namespace heddle
