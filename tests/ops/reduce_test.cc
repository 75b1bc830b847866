#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::close;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

TEST_CASE("a reduction over an axis leaves the others") {
  const NDArray x = array({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(values(sum(x, 0)) == Values{5, 7, 9});
  CHECK(values(sum(x, 1)) == Values{6, 15});
  CHECK(values(sum(x, -1)) == Values{6, 15});
  CHECK(values(mean(x, 0)) == Values{2.5, 3.5, 4.5});
  CHECK(values(max(x, 1)) == Values{3, 6});
  CHECK(values(min(x, 0)) == Values{1, 2, 3});
  CHECK(values(argmax(x, 1)) == Values{2, 2});
}

TEST_CASE("a reduction without an axis is a scalar") {
  const NDArray x = array({1, 2, 3, 4, 5, 9}, {2, 3});
  CHECK(sum(x).shape() == Shape{});
  CHECK(sum(x).item<float>() == 24.0F);
  CHECK(mean(x).item<float>() == 4.0F);
  CHECK(max(x).item<float>() == 9.0F);
  CHECK(min(x).item<float>() == 1.0F);
  CHECK(argmax(x).item<std::int64_t>() == 5);
}

TEST_CASE("keepdims leaves the reduced axes with size 1") {
  const NDArray x = NDArray::ones({2, 3, 4}, Device::cpu());
  CHECK(sum(x, 1).shape() == Shape{2, 4});
  CHECK(sum(x, 1, true).shape() == Shape{2, 1, 4});
  CHECK(max(x, {}, true).shape() == Shape{1, 1, 1});
  CHECK(argmax(x, -1, true).shape() == Shape{2, 3, 1});
}

TEST_CASE("sums are right for every length and position of the axis") {
  for (const std::int64_t n : {1, 2, 31, 32, 33, 100}) {
    for (const std::int64_t inner : {1, 5, 32, 70}) {
      CAPTURE(n, inner);
      const Values x = spread(3 * n * inner, 10);
      Values expected;
      for (std::int64_t o = 0; o < 3; ++o) {
        for (std::int64_t column = 0; column < inner; ++column) {
          double total = 0;
          for (std::int64_t i = 0; i < n; ++i) {
            total += x[static_cast<std::size_t>((o * n + i) * inner + column)];
          }
          expected.push_back(total);
        }
      }
      CHECK(close(values(sum(array(x, {std::int64_t{3}, n, inner}), 1)), expected, 1e-5));
    }
  }
}

TEST_CASE("a sum of many floats does not lose the small ones") {
  const std::int64_t n = std::int64_t{1} << 25U;
  CHECK(sum(NDArray::ones({n}, Device::cpu())).item<float>() == static_cast<float>(n));
  CHECK(
      sum(NDArray::full({n / 2, std::int64_t{2}}, 0.1F, Device::cpu()), 0).to_vector<float>()[0] ==
      Approx(0.1F * static_cast<double>(n / 2)).epsilon(1e-6));
}

TEST_CASE("sums of integers widen to int64") {
  for (const DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kInt64}) {
    CAPTURE(dtype_name(dtype));
    const NDArray total = sum(NDArray::full({1000}, 100, Device::cpu(), dtype));
    CHECK(total.dtype() == DType::kInt64);
    CHECK(total.item<std::int64_t>() == 100000);
  }
  CHECK(sum(NDArray::from<bool>({true, false, true}, {3}, Device::cpu())).item<std::int64_t>() ==
        2);
}

TEST_CASE("max and min keep the type and its limits") {
  const NDArray x = array({-128, 127, 3}, {3}, DType::kInt8);
  CHECK(max(x).item<std::int8_t>() == 127);
  CHECK(min(x).item<std::int8_t>() == -128);
  const float infinity = std::numeric_limits<float>::infinity();
  const NDArray lowest = NDArray::from<float>({-infinity, -infinity}, {2}, Device::cpu());
  CHECK(max(lowest).item<float>() == -infinity);
}

TEST_CASE("argmax gives the first of equal values") {
  const NDArray x = array({1, 7, 7, 3, 7, 2}, {2, 3}, DType::kInt32);
  CHECK(argmax(x).item<std::int64_t>() == 1);
  CHECK(values(argmax(x, 1)) == Values{1, 1});
  CHECK(values(argmax(array({5, 5, 5, 5}, {2, 2}), 0)) == Values{0, 0});
}

TEST_CASE("max, min and argmax find a NaN wherever it is") {
  for (const std::size_t position : {0U, 3U, 39U, 40U}) {
    Values x = spread(41);
    x[position] = std::numeric_limits<double>::quiet_NaN();
    const NDArray row = array(x, {41});
    CHECK(std::isnan(max(row).item<float>()));
    CHECK(std::isnan(min(row).item<float>()));
    CHECK(argmax(row).item<std::int64_t>() == static_cast<std::int64_t>(position));
  }
}

TEST_CASE("nothing sums to zero and has no mean") {
  const NDArray none = NDArray::ones({2, 0}, Device::cpu());
  CHECK(sum(none).item<float>() == 0.0F);
  CHECK(values(sum(none, 1)) == Values{0, 0});
  CHECK(std::isnan(mean(none).item<float>()));
}

TEST_CASE("choosing from an empty axis is refused") {
  const NDArray none = NDArray::ones({2, 0}, Device::cpu());
  CHECK(refusal([&] { max(none, 1); }) ==
        "[max] shape (2, 0) over axis 1: expected at least one element to choose from");
  CHECK(refusal([&] { min(none); }) ==
        "[min] shape (2, 0): expected at least one element to choose from");
  CHECK(refusal([&] { argmax(none, -1); }) ==
        "[argmax] shape (2, 0) over axis 1: expected at least one element to choose from");
  CHECK(max(none, 0).shape() == Shape{0});
}

TEST_CASE("an axis that is not there is refused") {
  const NDArray x = NDArray::ones({2, 3}, Device::cpu());
  CHECK(refusal([&] { sum(x, 2); }) == "[sum] axis 2: expected -2 <= axis < 2");
  CHECK(refusal([&] { mean(x, -3); }) == "[mean] axis -3: expected -2 <= axis < 2");
}

}  // namespace heddle
