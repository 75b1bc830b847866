#include "heddle/shape.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::refusal;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Shape identity(Shape shape) { return shape; }

TEST_CASE("Shape{} is a scalar of one element") {
  CHECK(Shape{}.ndim() == 0);
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{}.str() == "()");
  CHECK(identity({}) == Shape{});
}

TEST_CASE("a shape is made from integers of any types, mixed as they come") {
  const int rows = 2;
  const std::size_t columns = 3;
  const std::int8_t depth = 4;
  const Shape expected{2, 3, 4};
  CHECK(Shape{rows, columns, depth} == expected);
  CHECK(Shape({rows, columns, std::int64_t{4}}) == expected);
  CHECK(identity({rows, columns, 4U}) == expected);
  CHECK(identity({columns}) == Shape{3});
}

TEST_CASE("a shape is made from a span or a vector") {
  const std::vector<std::int64_t> dims{5, 7};
  CHECK(Shape(dims) == Shape{5, 7});
  CHECK(Shape(std::span<const std::int64_t>(dims).first(1)) == Shape{5});
}

TEST_CASE("dimensions are counted from either end") {
  const Shape shape{2, 3, 5};
  CHECK(shape.dim(0) == 2);
  CHECK(shape[-1] == 5);
  CHECK(shape.size() == 30);
  CHECK(shape.str() == "(2, 3, 5)");
}

TEST_CASE("a dimension out of range is refused by name") {
  CHECK(refusal([] { Shape{2, 3}.dim(2); }) == "[Shape::dim] 2 of shape (2, 3): expected -2 to 1");
  CHECK(refusal([] {
          Shape{2, 3}.dim(-3);
        }) == "[Shape::dim] -3 of shape (2, 3): expected -2 to 1");
  CHECK(refusal([] { Shape{}.dim(0); }) ==
        "[Shape::dim] 0 of shape (): expected a shape with dimensions");
}

TEST_CASE("a zero among the dimensions leaves no elements") {
  CHECK(Shape{0}.size() == 0);
  CHECK(Shape{4, 0, 2}.size() == 0);
  CHECK(Shape{4, 0} != Shape{0, 4});
}

TEST_CASE("negative dimensions are refused") {
  CHECK(refusal([] { Shape{2, -1}; }) == "[Shape] (2, -1): expected dimensions of 0 or more");
}

TEST_CASE("a number of elements beyond 63 bits is refused") {
  CHECK(Shape{kMost}.size() == kMost);
  CHECK(refusal([] {
          Shape{kMost, 2};
        }) == "[Shape] (9223372036854775807, 2): expected at most 2^63 - 1 elements");
  CHECK_THROWS_AS((Shape{std::int64_t{1} << 32, std::int64_t{1} << 31}), std::invalid_argument);
  CHECK_THROWS_AS((Shape{kMost, 0, 2}), std::invalid_argument);
}

TEST_CASE("a dimension that 64 bits hold only unsigned is refused") {
  CHECK(refusal([] { Shape{std::numeric_limits<std::uint64_t>::max()}; }) ==
        "[Shape] dimension 18446744073709551615: expected at most 9223372036854775807");
}

}  // namespace
}  // namespace heddle
