#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "ndarray/array_access.h"
#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::devices;
using support::refusal;

NDArray counted(Shape shape, Device device = Device::cpu()) {
  return NDArray::arange(0, shape.size(), 1, device).reshape(shape);
}

TEST_CASE("a view has the elements and the variable of its base") {
  for (const Device device : devices()) {
    const NDArray base = counted({4, 3}, device);
    const NDArray view = base.slice(1, 3);
    CHECK(view.var() == base.var());
    view.copy_from(NDArray::full({2, 3}, 9, device));
    CHECK(base.to_vector<float>() == std::vector<float>{0, 1, 2, 9, 9, 9, 9, 9, 9, 9, 10, 11});
    CHECK(Engine::get().version(view.var()) == Engine::get().version(base.var()));
    CHECK(ArrayAccess::share_block(view, base));
    CHECK_FALSE(ArrayAccess::share_block(view, base.copy()));
  }
}

TEST_CASE("reshape keeps the elements in row-major order") {
  const NDArray array = counted({2, 6});
  const std::size_t columns = 4;
  CHECK(array.reshape({3, 4}).at(1).to_vector<float>() == std::vector<float>{4, 5, 6, 7});
  CHECK(array.reshape({3, columns}).shape() == Shape{3, 4});
  CHECK(array.reshape(Shape{12}).shape() == Shape{12});
  CHECK(array.slice(1, 2).reshape({6}).to_vector<float>() ==
        std::vector<float>{6, 7, 8, 9, 10, 11});
  CHECK(array.at(1).slice(2, 3).reshape({}).item<float>() == 8);
}

TEST_CASE("one dimension of a reshape may be left open") {
  const NDArray array = counted({2, 6});
  CHECK(array.reshape({-1, 4}).shape() == Shape{3, 4});
  CHECK(array.reshape({-1}).shape() == Shape{12});
  CHECK(array.reshape({2, 3, -1}).shape() == Shape{2, 3, 2});
  CHECK(NDArray({0, 4}).reshape({2, -1}).shape() == Shape{2, 0});
  CHECK(NDArray(Shape{}).reshape({-1}).shape() == Shape{1});
}

TEST_CASE("a reshape to another number of elements is refused") {
  const NDArray array = counted({2, 6});
  CHECK(refusal([&] { array.reshape({5}); }) ==
        "[reshape] shape (2, 6) to (5): expected 12 elements");
  CHECK(refusal([&] {
          array.reshape({-1, 5});
        }) == "[reshape] shape (2, 6) to (-1, 5): expected dimensions whose product divides 12");
  CHECK(refusal([&] {
          array.reshape({0, -1});
        }) == "[reshape] shape (2, 6) to (0, -1): expected dimensions whose product divides 12");
  CHECK(refusal([&] {
          array.reshape({-1, -1});
        }) == "[reshape] shape (2, 6) to (-1, -1): expected -1 at most once");
  CHECK(refusal([&] {
          array.reshape({-2, 6});
        }) == "[Shape] (-2, 6): expected dimensions of 0 or more");
}

TEST_CASE("slice takes rows, counted from either end") {
  const NDArray array = counted({4, 2});
  CHECK(array.slice(1, 3).to_vector<float>() == std::vector<float>{2, 3, 4, 5});
  CHECK(array.slice(-1, 4).to_vector<float>() == std::vector<float>{6, 7});
  CHECK(array.slice(0, -3).to_vector<float>() == std::vector<float>{0, 1});
  CHECK(array.slice(2, 2).shape() == Shape{0, 2});
  CHECK(array.slice(4, 4).to_vector<float>().empty());
  CHECK(array.slice(1, 4).slice(1, 2).to_vector<float>() == std::vector<float>{4, 5});
}

TEST_CASE("a slice out of range is refused") {
  const NDArray array = counted({4, 2});
  const std::string expected =
      " of shape (4, 2): expected 0 <= begin <= end <= the first dimension";
  CHECK(refusal([&] { array.slice(0, 5); }) == "[slice] 0 to 5" + expected);
  CHECK(refusal([&] { array.slice(-5, 1); }) == "[slice] -5 to 1" + expected);
  CHECK(refusal([&] { array.slice(3, 2); }) == "[slice] 3 to 2" + expected);
  CHECK_THROWS_AS(array.slice(INT64_MIN, INT64_MAX), std::invalid_argument);
  CHECK_THROWS_AS(NDArray(Shape{}).slice(0, 0), std::invalid_argument);
}

TEST_CASE("at takes one row and drops its axis") {
  const NDArray array = counted({3, 2});
  CHECK(array.at(1).shape() == Shape{2});
  CHECK(array.at(-1).to_vector<float>() == std::vector<float>{4, 5});
  CHECK(array.at(2).at(0).item<float>() == 4);
  CHECK(array.slice(1, 3).at(0).to_vector<float>() == std::vector<float>{2, 3});
}

TEST_CASE("an index out of range is refused") {
  const NDArray array = counted({3, 2});
  CHECK(refusal([&] { array.at(3); }) ==
        "[at] 3 of shape (3, 2): expected an index of the first dimension");
  CHECK(refusal([&] { array.at(-4); }) ==
        "[at] -4 of shape (3, 2): expected an index of the first dimension");
  CHECK_THROWS_AS(array.at(INT64_MIN), std::invalid_argument);
  CHECK_THROWS_AS(NDArray(Shape{}).at(0), std::invalid_argument);
}

TEST_CASE("a view of any shape and place is made through ArrayAccess") {
  const NDArray array = counted({3, 4}).slice(1, 3);
  CHECK(ArrayAccess::view(array, {2}, 3, "test").to_vector<float>() == std::vector<float>{7, 8});
  CHECK(ArrayAccess::begin_byte(ArrayAccess::view(array, {2}, 3, "test")) == 7 * sizeof(float));
  CHECK(refusal([&] { ArrayAccess::view(array, {3}, 6, "test"); }) ==
        "[test] shape (3) from element 6 of shape (2, 4): expected elements of that array");
}

TEST_CASE("a view outlives its base") {
  NDArray base = counted({4});
  const NDArray view = base.slice(2, 4);
  base = NDArray();
  CHECK(view.to_vector<float>() == std::vector<float>{2, 3});
}

}  // namespace
}  // namespace heddle
