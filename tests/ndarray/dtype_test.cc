#include "heddle/dtype.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace heddle {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint16_t half(float x) { return float16(x).bits(); }
std::uint16_t brain(float x) { return bfloat16(x).bits(); }

TEST_CASE("every type has its size and name") {
  const std::vector<std::pair<DType, std::size_t>> sizes = {
      {DType::kFloat32, 4},  {DType::kFloat64, 8}, {DType::kFloat16, 2},
      {DType::kBFloat16, 2}, {DType::kInt8, 1},    {DType::kUInt8, 1},
      {DType::kInt32, 4},    {DType::kInt64, 8},   {DType::kBool, 1}};
  for (const auto& [dtype, size] : sizes) CHECK(dtype_size(dtype) == size);
  CHECK(std::string(dtype_name(DType::kFloat32)) == "float32");
  CHECK(std::string(dtype_name(DType::kBFloat16)) == "bfloat16");
  CHECK(std::string(dtype_name(DType::kBool)) == "bool");
}

TEST_CASE("every float16 that is a number survives the way to float and back") {
  int changed = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float16 value = float16::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(float{value})) continue;
    if (half(value) != bits) ++changed;
  }
  CHECK(changed == 0);
}

TEST_CASE("every bfloat16 that is a number survives the way to float and back") {
  int changed = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bfloat16 value = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(float{value})) continue;
    if (brain(value) != bits) ++changed;
  }
  CHECK(changed == 0);
}

TEST_CASE("float16 has the values of IEEE binary16") {
  CHECK(float{float16::from_bits(0x3C00)} == 1.0F);
  CHECK(float{float16::from_bits(0x3555)} == 0.333251953125F);
  CHECK(float{float16::from_bits(0xC000)} == -2.0F);
  CHECK(float{float16::from_bits(0x7BFF)} == 65504.0F);
  CHECK(float{float16::from_bits(0x0400)} == 0x1p-14F);
  CHECK(float{float16::from_bits(0x03FF)} == 1023 * 0x1p-24F);
  CHECK(float{float16::from_bits(0x0001)} == 0x1p-24F);
  CHECK(float{float16::from_bits(0x7C00)} == kInfinity);
  CHECK(std::isnan(float{float16::from_bits(0x7E01)}));
  CHECK(std::signbit(float{float16::from_bits(0x8000)}));
}

TEST_CASE("float16 rounds to the nearest value, ties to the even one") {
  CHECK(half(1.0F + 0x1p-11F) == 0x3C00);
  CHECK(half(1.0F + 0x1p-11F + 0x1p-23F) == 0x3C01);
  CHECK(half(1.0F + 3 * 0x1p-11F) == 0x3C02);
  CHECK(half(2049.0F) == half(2048.0F));
  CHECK(half(2051.0F) == half(2052.0F));
  CHECK(half(-2051.0F) == half(-2052.0F));
}

TEST_CASE("float16 overflows from halfway beyond its greatest value") {
  CHECK(half(65519.996F) == 0x7BFF);
  CHECK(half(65520.0F) == 0x7C00);
  CHECK(half(65536.0F) == 0x7C00);
  CHECK(half(std::numeric_limits<float>::max()) == 0x7C00);
  CHECK(half(-kInfinity) == 0xFC00);
}

TEST_CASE("float16 underflows gradually") {
  CHECK(half(0x1p-14F) == 0x0400);
  CHECK(half(0x1p-14F - 0x1p-25F) == 0x0400);
  CHECK(half(0x1p-14F - 0x1p-24F) == 0x03FF);
  CHECK(half(0x1p-24F) == 0x0001);
  CHECK(half(0x1p-25F) == 0x0000);
  CHECK(half(std::nextafter(0x1p-25F, 1.0F)) == 0x0001);
  CHECK(half(3 * 0x1p-25F) == 0x0002);
  CHECK(half(-0x1p-24F) == 0x8001);
  CHECK(half(-0.0F) == 0x8000);
  CHECK(half(std::numeric_limits<float>::denorm_min()) == 0x0000);
}

TEST_CASE("bfloat16 rounds to the nearest value, ties to the even one") {
  CHECK(brain(1.0F) == 0x3F80);
  CHECK(brain(1.0F + 0x1p-8F) == 0x3F80);
  CHECK(brain(1.0F + 0x1p-8F + 0x1p-23F) == 0x3F81);
  CHECK(brain(1.0F + 3 * 0x1p-8F) == 0x3F82);
  CHECK(brain(-257.0F) == brain(-256.0F));
  CHECK(brain(259.0F) == brain(260.0F));
  CHECK(brain(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(brain(-kInfinity) == 0xFF80);
}

TEST_CASE("a NaN stays one when it is narrowed") {
  const float low_payload = std::bit_cast<float>(std::uint32_t{0x7F800001});
  CHECK(std::isnan(float{float16(kNan)}));
  CHECK(std::isnan(float{float16(low_payload)}));
  CHECK(std::isnan(float{bfloat16(kNan)}));
  CHECK(std::isnan(float{bfloat16(low_payload)}));
}

}  // namespace
}  // namespace heddle
