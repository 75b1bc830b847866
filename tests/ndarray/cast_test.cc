#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::devices;

constexpr DType kAllTypes[] = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                               DType::kBFloat16, DType::kInt8,    DType::kUInt8,
                               DType::kInt32,    DType::kInt64,   DType::kBool};

template <class To, class From>
To converted(From value) {
  return NDArray::from<From>({value}, {}, Device::cpu()).astype(dtype_of<To>).template item<To>();
}

TEST_CASE("small numbers survive the way through every pair of types") {
  const std::vector<double> values{0, 1, 1, 0};
  for (const Device device : devices()) {
    for (const DType from : kAllTypes) {
      for (const DType to : kAllTypes) {
        const NDArray array = NDArray::from(values, {2, 2}, device).astype(from).astype(to);
        CHECK(array.dtype() == to);
        CHECK(array.shape() == Shape{2, 2});
        CHECK(array.device() == device);
        CHECK(array.astype(DType::kFloat64).to_vector<double>() == values);
      }
    }
  }
}

TEST_CASE("an array that has the type already is returned as it is") {
  const NDArray array = NDArray::ones({2});
  CHECK(array.astype(DType::kFloat32).var() == array.var());
}

TEST_CASE("fractions become integers by truncation") {
  CHECK(converted<std::int32_t>(2.9F) == 2);
  CHECK(converted<std::int64_t>(-2.9) == -2);
  CHECK(converted<std::int8_t>(float16(-1.5F)) == -1);
}

TEST_CASE("integers that do not fit wrap") {
  CHECK(converted<std::int8_t>(200) == -56);
  CHECK(converted<std::uint8_t>(-1) == 255);
  CHECK(converted<std::uint8_t>(300.7F) == 44);
  CHECK(converted<std::int32_t>((std::int64_t{1} << 32) + 5) == 5);
}

TEST_CASE("what no integer can hold is converted without a fault") {
  CHECK_NOTHROW(converted<std::int64_t>(std::numeric_limits<float>::quiet_NaN()));
  CHECK_NOTHROW(converted<std::int32_t>(std::numeric_limits<double>::infinity()));
  CHECK_NOTHROW(converted<std::int8_t>(-1e300));
}

TEST_CASE("everything but zero is true") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const NDArray array = NDArray::from<float>({0.0F, -0.0F, 0.25F, -3, nan}, {5});
  CHECK(array.astype(DType::kBool).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{0, 0, 1, 1, 1});
  CHECK(NDArray::from<std::int64_t>({256, 0}, {2}).astype(DType::kBool).to_vector<std::uint8_t>() ==
        std::vector<std::uint8_t>{1, 0});
  const NDArray halves = NDArray::from<float16>({float16(-0.0F), float16(0x1p-24F)}, {2});
  CHECK(halves.astype(DType::kBool).to_vector<std::uint8_t>() == std::vector<std::uint8_t>{0, 1});
}

TEST_CASE("wide numbers are rounded once on the way to half the width") {
  // Between the tie and its upper neighbour: rounding to float first would end at the tie.
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  CHECK(converted<float16>(above_tie) == 1 + 0x1p-10F);
  CHECK(converted<float16>(-above_tie) == -1 - 0x1p-10F);
  CHECK(converted<float16>(1 + 3 * 0x1p-11 - 0x1p-40) == 1 + 0x1p-10F);
  CHECK(converted<bfloat16>(1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7F);
  CHECK(converted<bfloat16>((std::int64_t{1} << 30) + (std::int64_t{1} << 22) + 1) ==
        0x1p30F + 0x1p23F);
  CHECK(converted<float16>(0x1p-25 + 0x1p-60) == 0x1p-24F);
  CHECK(converted<float16>(1e300) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(float{converted<float16>(std::numeric_limits<double>::quiet_NaN())}));
}

TEST_CASE("converting a poisoned array passes its error on") {
  const NDArray array = NDArray::ones({2});
  support::poison(array);
  const NDArray result = array.astype(DType::kInt32);
  CHECK(support::failed_operation([&] { result.wait_to_read(); }) == "poison");
}

}  // namespace
}  // namespace heddle
