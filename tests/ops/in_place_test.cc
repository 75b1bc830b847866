#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::Values;
using support::values;

TEST_CASE("in-place arithmetic writes the array itself") {
  NDArray a = array({1, 2, 3, 4}, {2, 2});
  const NDArray alias = a;
  a += array({10, 20, 30, 40}, {2, 2});
  a *= 2;
  a -= array({2, 4}, {2});
  a /= array({2, 4}, {2, 1});
  CHECK(values(alias) == Values{10, 20, 16, 21});
}

TEST_CASE("an array may be its own operand") {
  NDArray a = array({1, 2, 3}, {3});
  a += a;
  CHECK(values(a) == Values{2, 4, 6});
}

TEST_CASE("an in-place operand may overlap the array") {
  NDArray a = array({1, 2, 3, 4, 5}, {5});
  NDArray tail = a.slice(1, 5);
  tail += a.slice(0, 4);
  CHECK(values(a) == Values{1, 3, 5, 7, 9});
}

TEST_CASE("an in-place result keeps the array's type") {
  NDArray floats = array({1, 2}, {2});
  floats += array({0.5, 0.25}, {2}, DType::kFloat64);
  CHECK(floats.dtype() == DType::kFloat32);
  CHECK(values(floats) == Values{1.5, 2.25});
  NDArray halves = array({1, 2}, {2}, DType::kFloat16);
  halves *= 3;
  CHECK(halves.dtype() == DType::kFloat16);
  CHECK(values(halves) == Values{3, 6});
}

TEST_CASE("an in-place result that the array cannot hold is refused") {
  NDArray integers = array({1, 2}, {2}, DType::kInt32);
  CHECK(refusal([&] { integers += 0.5; }) ==
        "[add] in place: the result has type float64: expected one that int32 can hold");
  CHECK(refusal([&] { integers /= integers.copy(); }) ==
        "[divide] in place: the result has type float64: expected one that int32 can hold");
  NDArray small = array({1, 2}, {2});
  CHECK(refusal([&] {
          small += NDArray::ones({3, 2}, Device::cpu());
        }) == "[add] in place on shape (2) with shape (3, 2): expected a result of shape (2)");
  CHECK(values(small) == Values{1, 2});
}

}  // namespace heddle
