#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::Values;
using support::values;

TEST_CASE("take copies the slices that the indices name") {
  const NDArray x = array({0, 1, 10, 11, 20, 21}, {3, 2});
  const NDArray indices = array({2, 0, 2, 1}, {2, 2}, DType::kInt32);
  const NDArray rows = take(x, indices);
  CHECK(rows.shape() == Shape{2, 2, 2});
  CHECK(values(rows) == Values{20, 21, 0, 1, 20, 21, 10, 11});
  CHECK(values(take(x, array({1}, {1}, DType::kInt64), -1)) == Values{1, 11, 21});
  CHECK(take(x, array({1}, Shape{}, DType::kUInt8)).shape() == Shape{2});
}

TEST_CASE("an index that take does not find is an OpError") {
  const NDArray x = NDArray::ones({3, 2}, Device::cpu());
  for (const double index : {3.0, -1.0}) {
    const NDArray rows = take(x, array({0, index}, {2}, DType::kInt64));
    CHECK_THROWS_AS(rows.wait_to_read(), OpError);
  }
  CHECK_THROWS_WITH(take(x, array({3}, {1}, DType::kInt64)).wait_to_read(),
                    Catch::Contains("index 3 at position 0: expected a whole number >= 0 and < 3"));
}

TEST_CASE("one_hot marks each index") {
  const NDArray x = one_hot(array({2, 0}, {2}, DType::kUInt8), 3);
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.dtype() == DType::kFloat32);
  CHECK(values(x) == Values{0, 0, 1, 1, 0, 0});
  CHECK(refusal([&] { one_hot(x, 0); }) == "[one_hot] depth 0: expected 1 or more");
}

TEST_CASE("concat joins arrays along an axis") {
  const NDArray a = array({1, 2, 3, 4}, {2, 2});
  const NDArray b = array({5, 6}, {1, 2});
  const NDArray c = array({7, 8}, {2, 1});
  CHECK(values(concat({a, b})) == Values{1, 2, 3, 4, 5, 6});
  CHECK(concat({a, b}).shape() == Shape{3, 2});
  CHECK(values(concat({a, c, a}, -1)) == Values{1, 2, 7, 1, 2, 3, 4, 8, 3, 4});
}

TEST_CASE("concat refuses what does not join") {
  const NDArray a = NDArray::ones({2, 2}, Device::cpu());
  CHECK(refusal([] { concat({}); }) == "[concat] no arrays: expected at least one");
  CHECK(refusal([&] {
          concat({a, NDArray::ones({2, 3}, Device::cpu())});
        }) ==
        "[concat] shapes (2, 2) and (2, 3) along axis 0: expected equal sizes of all other axes");
  CHECK(refusal([&] {
          concat({a, NDArray::ones({2}, Device::cpu())});
        }) ==
        "[concat] shapes (2, 2) and (2) along axis 0: expected equal sizes of all other axes");
}

}  // namespace heddle
