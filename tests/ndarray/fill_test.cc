#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::devices;
using support::refusal;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::vector<std::int64_t> integers(Scalar start, Scalar stop, Scalar step = 1) {
  return NDArray::arange(start, stop, step, Device::cpu(), DType::kInt64).to_vector<std::int64_t>();
}

TEST_CASE("zeros, ones and full write every element") {
  for (const Device device : devices()) {
    CHECK(NDArray::zeros({2, 2}, device).to_vector<float>() == std::vector<float>(4, 0));
    CHECK(NDArray::ones({3}, device, DType::kInt8).to_vector<std::int8_t>() ==
          std::vector<std::int8_t>(3, 1));
    CHECK(NDArray::full({2}, 3, device).to_vector<float>() == std::vector<float>{3, 3});
    CHECK(NDArray::full({}, -0.5, device, DType::kFloat64).item<double>() == -0.5);
  }
}

TEST_CASE("full converts its value as astype does") {
  const auto filled = [](Scalar value, DType dtype) {
    return NDArray::full({1}, value, Device::cpu(), dtype);
  };
  CHECK(filled(2.9, DType::kInt32).item<std::int32_t>() == 2);
  CHECK(filled(300, DType::kUInt8).item<std::uint8_t>() == 44);
  CHECK(filled(7, DType::kBool).item<std::uint8_t>() == 1);
  CHECK(filled(0.25, DType::kBool).item<std::uint8_t>() == 1);
  CHECK(filled(kMost, DType::kInt64).item<std::int64_t>() == kMost);
  CHECK(filled(2049, DType::kFloat16).item<float16>().bits() == float16(2048.0F).bits());
  CHECK(filled(1.5F, DType::kBFloat16).item<bfloat16>() == 1.5F);
}

TEST_CASE("arange counts from start up to but without stop") {
  CHECK(NDArray::arange(0, 4).to_vector<float>() == std::vector<float>{0, 1, 2, 3});
  CHECK(NDArray::arange(0, 1, 0.25, Device::gpu(0)).to_vector<float>() ==
        std::vector<float>{0, 0.25F, 0.5F, 0.75F});
  CHECK(NDArray::arange(1.5, 4).to_vector<float>() == std::vector<float>{1.5F, 2.5F, 3.5F});
  CHECK(integers(10, 3, -3) == std::vector<std::int64_t>{10, 7, 4});
  CHECK(integers(0, 7, 3) == std::vector<std::int64_t>{0, 3, 6});
  CHECK(integers(0, 6, 3) == std::vector<std::int64_t>{0, 3});
}

TEST_CASE("arange is empty if stop does not lie ahead") {
  CHECK(NDArray::arange(3, 3).shape() == Shape{0});
  CHECK(NDArray::arange(3, 0).shape() == Shape{0});
  CHECK(NDArray::arange(0, 3, -0.5).shape() == Shape{0});
}

TEST_CASE("arange of integers is exact at the ends of their range") {
  CHECK(integers(kMost - 2, kMost) == std::vector<std::int64_t>{kMost - 2, kMost - 1});
  CHECK(integers(kLeast, kMost, kMost) == std::vector<std::int64_t>{kLeast, -1, kMost - 1});
  CHECK(integers(kLeast + 1, kLeast, kLeast) == std::vector<std::int64_t>{kLeast + 1});
}

TEST_CASE("arange refuses a step that leads nowhere") {
  CHECK(refusal([] { NDArray::arange(0, 4, 0); }) ==
        "[arange] from 0 to 4 by 0: expected a step other than 0 and fewer than 2^63 elements");
  CHECK_THROWS_AS(NDArray::arange(0.0, std::numeric_limits<double>::infinity()),
                  std::invalid_argument);
  CHECK_THROWS_AS(NDArray::arange(std::numeric_limits<double>::quiet_NaN(), 1),
                  std::invalid_argument);
  CHECK_THROWS_AS(NDArray::arange(kLeast, kMost), std::invalid_argument);
}

TEST_CASE("a scalar that only 64 unsigned bits hold is refused") {
  CHECK(Scalar(std::uint64_t{5}).integer() == 5);
  constexpr std::uint64_t kTooGreat = std::numeric_limits<std::uint64_t>::max();
  CHECK(refusal([] { static_cast<void>(Scalar(kTooGreat)); }) ==
        "[Scalar] 18446744073709551615: expected at most 9223372036854775807");
}

}  // namespace
}  // namespace heddle
