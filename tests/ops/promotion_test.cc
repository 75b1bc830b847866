#include "ops/promotion.h"

#include <vector>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::values;

namespace {

constexpr DType kF32 = DType::kFloat32;
constexpr DType kF64 = DType::kFloat64;
constexpr DType kF16 = DType::kFloat16;
constexpr DType kBF16 = DType::kBFloat16;
constexpr DType kI8 = DType::kInt8;
constexpr DType kU8 = DType::kUInt8;
constexpr DType kI32 = DType::kInt32;
constexpr DType kI64 = DType::kInt64;
constexpr DType kB = DType::kBool;
constexpr DType kTypes[] = {kF32, kF64, kF16, kBF16, kI8, kU8, kI32, kI64, kB};

}  // namespace

TEST_CASE("types promote as in NumPy 2") {
  // NumPy's result_type, where heddle has that type; int16 becomes int32. bfloat16 as in ml_dtypes.
  constexpr DType expected[9][9] = {
      {kF32, kF64, kF32, kF32, kF32, kF32, kF64, kF64, kF32},
      {kF64, kF64, kF64, kF64, kF64, kF64, kF64, kF64, kF64},
      {kF32, kF64, kF16, kF32, kF16, kF16, kF64, kF64, kF16},
      {kF32, kF64, kF32, kBF16, kBF16, kBF16, kF64, kF64, kBF16},
      {kF32, kF64, kF16, kBF16, kI8, kI32, kI32, kI64, kI8},
      {kF32, kF64, kF16, kBF16, kI32, kU8, kI32, kI64, kU8},
      {kF64, kF64, kF64, kF64, kI32, kI32, kI32, kI64, kI32},
      {kF64, kF64, kF64, kF64, kI64, kI64, kI64, kI64, kI64},
      {kF32, kF64, kF16, kBF16, kI8, kU8, kI32, kI64, kB},
  };
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 9; ++j) {
      CAPTURE(dtype_name(kTypes[i]), dtype_name(kTypes[j]));
      CHECK(ops::promote(kTypes[i], kTypes[j]) == expected[i][j]);
      const NDArray a = NDArray::ones({2}, Device::cpu(), kTypes[i]);
      const NDArray b = NDArray::ones({2}, Device::cpu(), kTypes[j]);
      CHECK((a * b).dtype() == expected[i][j]);
    }
  }
}

TEST_CASE("a scalar is weak beside an array") {
  for (const DType dtype : {kF32, kF64, kF16, kBF16, kI8, kU8, kI32, kI64}) {
    CAPTURE(dtype_name(dtype));
    CHECK((NDArray::ones({1}, Device::cpu(), dtype) + 2).dtype() == dtype);
    const DType with_fraction = ops::is_floating(dtype) ? dtype : kF64;
    CHECK((0.5 * NDArray::ones({1}, Device::cpu(), dtype)).dtype() == with_fraction);
  }
  CHECK((NDArray::ones({1}, Device::cpu(), kB) + 2).dtype() == kI64);
}

TEST_CASE("an integer scalar must fit an integer array") {
  const NDArray bytes = NDArray::ones({1}, Device::cpu(), kU8);
  CHECK(refusal([&] { bytes + 300; }) ==
        "[add] scalar 300 beside an array of type uint8: expected a value of that type");
  CHECK(refusal([&] { bytes - -1; }) ==
        "[subtract] scalar -1 beside an array of type uint8: expected a value of that type");
}

TEST_CASE("integers wrap") {
  const NDArray u8 = array({200, 0, 16}, {3}, kU8);
  CHECK(values(u8 + array({100, 0, 0}, {3}, kU8)) == support::Values{44, 0, 16});
  CHECK(values(u8 - 1) == support::Values{199, 255, 15});
  CHECK(values(u8 * u8) == support::Values{64, 0, 0});
  const NDArray i8 = array({127, -128}, {2}, kI8);
  CHECK(values(i8 + 1) == support::Values{-128, -127});
  CHECK(values(-i8) == support::Values{-127, -128});
  const NDArray i32 = array({2147483647}, {1}, kI32);
  CHECK(values(i32 + 1) == support::Values{-2147483648.0});
}

TEST_CASE("division of integers is true division in float64") {
  for (const DType dtype : {kI8, kU8, kI32, kI64, kB}) {
    CAPTURE(dtype_name(dtype));
    const NDArray one = NDArray::ones({1}, Device::cpu(), dtype);
    CHECK((one / one).dtype() == kF64);
  }
  CHECK(values(array({7, -1}, {2}, kI32) / 2) == support::Values{3.5, -0.5});
}

TEST_CASE("functions of real numbers turn integers into float64") {
  CHECK(exp(NDArray::zeros({1}, Device::cpu(), kI32)).dtype() == kF64);
  CHECK(mean(NDArray::ones({2}, Device::cpu(), kU8)).dtype() == kF64);
  CHECK(exp(NDArray::zeros({1}, Device::cpu(), kF16)).dtype() == kF16);
}

TEST_CASE("half precision is computed as float and rounded once") {
  const NDArray a = array({1.0, 2048.0}, {2}, kF16);
  CHECK(values(a + 1.0) == support::Values{2.0, 2048.0});
  CHECK((a + a).dtype() == kF16);
}

TEST_CASE("bool adds as or, multiplies as and, and has no difference") {
  const NDArray a = NDArray::from<bool>({true, true, false, false}, {4}, Device::cpu());
  const NDArray b = NDArray::from<bool>({true, false, true, false}, {4}, Device::cpu());
  CHECK(values(a + b) == support::Values{1, 1, 1, 0});
  CHECK(values(a * b) == support::Values{1, 0, 0, 0});
  CHECK((a + b).dtype() == kB);
  CHECK(refusal([&] { a - b; }) ==
        "[subtract] type bool: expected one that the operator has; astype() converts");
}

TEST_CASE("what an in-place result may be stored as follows NumPy's same_kind") {
  CHECK(ops::can_store(kF64, kF32));
  CHECK(ops::can_store(kI64, kI8));
  CHECK(ops::can_store(kI64, kF32));
  CHECK_FALSE(ops::can_store(kF32, kI32));
  CHECK_FALSE(ops::can_store(kI8, kU8));
  CHECK_FALSE(ops::can_store(kU8, kB));
}

}  // namespace heddle
