#include <cstdint>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

TEST_CASE("transpose turns rows into columns") {
  constexpr std::int64_t kRows = 37, kColumns = 70;
  const Values x = spread(kRows * kColumns);
  Values expected;
  for (std::int64_t j = 0; j < kColumns; ++j) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      expected.push_back(x[static_cast<std::size_t>(i * kColumns + j)]);
    }
  }
  const NDArray result = transpose(array(x, {kRows, kColumns}, DType::kFloat64));
  CHECK(result.shape() == Shape{kColumns, kRows});
  CHECK(values(result) == expected);
}

TEST_CASE("transpose keeps every element type") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                            DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64}) {
    CAPTURE(dtype_name(dtype));
    const NDArray result = transpose(array({1, 2, 3, 4, 5, 6}, {2, 3}, dtype));
    CHECK(result.dtype() == dtype);
    CHECK(values(result) == Values{1, 4, 2, 5, 3, 6});
  }
}

TEST_CASE("transpose puts axes into any order") {
  const NDArray x = NDArray::arange(0, 24, 1, Device::cpu()).reshape({2, 3, 4});
  const NDArray moved = transpose(x, {2, 0, 1});
  CHECK(moved.shape() == Shape{4, 2, 3});
  CHECK(values(moved.at(1)) == Values{1, 5, 9, 13, 17, 21});
  CHECK(transpose(x).shape() == Shape{4, 3, 2});
  CHECK(values(transpose(transpose(x))) == values(x));
}

TEST_CASE("transpose refuses axes that are not each of the array's once") {
  const NDArray x = NDArray::ones({2, 3}, Device::cpu());
  CHECK(refusal([&] {
          transpose(x, {0, 0});
        }) == "[transpose] 2 axes for shape (2, 3): expected each of its axes once");
  CHECK(refusal([&] { transpose(x, {0}); }) ==
        "[transpose] 1 axes for shape (2, 3): expected each of its axes once");
  CHECK(refusal([&] { transpose(x, {0, 2}); }) == "[transpose] axis 2: expected -2 <= axis < 2");
}

}  // namespace heddle
