#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::Values;
using support::values;

TEST_CASE("where takes from one array or the other") {
  const NDArray condition = NDArray::from<bool>({true, false, true}, {3}, Device::cpu());
  CHECK(values(where(condition, array({1, 2, 3}, {3}), array({10, 20, 30}, {3}))) ==
        Values{1, 20, 3});
}

TEST_CASE("where broadcasts its three arrays and promotes the last two") {
  const NDArray condition = NDArray::from<bool>({true, false}, {2, 1}, Device::cpu());
  const NDArray a = array({1, 2, 3}, {3}, DType::kInt32);
  const NDArray b = array({0.5}, {1}, DType::kFloat64);
  const NDArray result = where(condition, a, b);
  CHECK(result.shape() == Shape{2, 3});
  CHECK(result.dtype() == DType::kFloat64);
  CHECK(values(result) == Values{1, 2, 3, 0.5, 0.5, 0.5});
}

TEST_CASE("where refuses a condition of numbers") {
  const NDArray x = array({1}, {1});
  CHECK(refusal([&] { where(x, x, x); }) ==
        "[where] condition of type float32: expected bool, int8 or uint8");
}

}  // namespace heddle
