#include "ops/broadcast.h"

#include <array>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

namespace {

/// a + b by indices computed for every element anew.
Values broadcast_sum(const Values& a, const Shape& shape_a, const Values& b, const Shape& shape_b,
                     const Shape& result) {
  const auto element = [&](const Values& x, const Shape& shape, std::int64_t index) {
    std::int64_t offset = 0;
    std::int64_t stride = 1;
    for (int i = 1; i <= shape.ndim(); ++i) {
      const std::int64_t position = index % result[-i];
      index /= result[-i];
      if (shape[-i] != 1) offset += position * stride;
      stride *= shape[-i];
    }
    return x[static_cast<std::size_t>(offset)];
  };
  Values sum;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    sum.push_back(element(a, shape_a, i) + element(b, shape_b, i));
  }
  return sum;
}

}  // namespace

TEST_CASE("shapes broadcast as in NumPy") {
  struct Case {
    Shape a, b, result;
  };
  const std::vector<Case> cases = {
      {{3}, {3}, {3}},
      {{2, 3}, {3}, {2, 3}},
      {{2, 3}, {2, 1}, {2, 3}},
      {{2, 1}, {1, 3}, {2, 3}},
      {{3}, {2, 1}, {2, 3}},
      {Shape{}, {2, 3}, {2, 3}},
      {{1, 1}, {4}, {1, 4}},
      {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
      {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
      {{2, 3, 1, 1}, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {{0, 3}, {3}, {0, 3}},
      {{2, 0}, {2, 1}, {2, 0}},
  };
  for (const auto& [shape_a, shape_b, result] : cases) {
    CAPTURE(shape_a.str(), shape_b.str());
    const Values a = spread(shape_a.size(), 8, 1);
    const Values b = spread(shape_b.size(), 8, 2);
    const NDArray sum = array(a, shape_a, DType::kFloat64) + array(b, shape_b, DType::kFloat64);
    CHECK(sum.shape() == result);
    CHECK(values(sum) == broadcast_sum(a, shape_a, b, shape_b, result));
  }
}

TEST_CASE("shapes that do not broadcast are refused with both") {
  const NDArray a = NDArray::ones({2, 3}, Device::cpu());
  const NDArray b = NDArray::ones({4, 3}, Device::cpu());
  CHECK(refusal([&] { a + b; }) ==
        "[add] shapes (2, 3) and (4, 3): expected sizes that are equal or 1, from the last axis "
        "on");
}

TEST_CASE("axes that all operands walk alike are one loop") {
  const Shape result{2, 3, 4};
  const Shape row{4};
  const std::array same = {&result, &result};
  const std::array with_row = {&result, &row};
  CHECK(ops::plan_broadcast(result, same).outer.empty());
  CHECK(ops::plan_broadcast(result, same).inner.size == 24);
  CHECK(ops::plan_broadcast(result, with_row).outer.size() == 1);
  CHECK(ops::plan_broadcast(result, with_row).outer[0].size == 6);
}

}  // namespace heddle
