#include "ops/elementwise.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

TEST_CASE("element-wise functions have every length, short or long") {
  for (const std::int64_t n : {0, 1, 7, 8, 31, 33, 1000}) {
    CAPTURE(n);
    const Values x = spread(n, 3);
    Values doubled;
    for (const double value : x) doubled.push_back(value + value);
    const NDArray a = array(x, {n}, DType::kFloat64);
    CHECK(values(a + a) == doubled);
    CHECK(values(a * 2) == doubled);
    CHECK(values(2 * a) == doubled);
  }
}

TEST_CASE("a scalar may stand on either side") {
  const NDArray a = array({1, 2, 4}, {3});
  CHECK(values(8 - a) == Values{7, 6, 4});
  CHECK(values(a - 8) == Values{-7, -6, -4});
  CHECK(values(8 / a) == Values{8, 4, 2});
  CHECK(values(a / 8) == Values{0.125, 0.25, 0.5});
  CHECK(values(maximum(2, a)) == Values{2, 2, 4});
  CHECK(values(minimum(a, 2)) == Values{1, 2, 2});
}

TEST_CASE("maximum, minimum and relu pass NaN on") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const NDArray a = NDArray::from<float>({nan, 1.0F}, {2}, Device::cpu());
  const NDArray b = NDArray::from<float>({1.0F, nan}, {2}, Device::cpu());
  for (const NDArray& result : {maximum(a, b), maximum(b, a), minimum(a, b), minimum(b, a)}) {
    const auto elements = result.to_vector<float>();
    CHECK(std::isnan(elements[0]));
    CHECK(std::isnan(elements[1]));
  }
  CHECK(std::isnan(relu(a).to_vector<float>()[0]));
}

TEST_CASE("integers keep their type in abs, square and relu") {
  const NDArray a = array({-3, 0, 5}, {3}, DType::kInt32);
  CHECK(values(abs(a)) == Values{3, 0, 5});
  CHECK(values(square(a)) == Values{9, 0, 25});
  CHECK(values(relu(a)) == Values{0, 0, 5});
  CHECK(relu(a).dtype() == DType::kInt32);
}

TEST_CASE("a view takes part as the elements it shows") {
  const NDArray a = NDArray::arange(0, 12, 1, Device::cpu()).reshape({4, 3});
  CHECK(values(a.slice(1, 3) + a.at(0)) == Values{3, 5, 7, 6, 8, 10});
}

TEST_CASE("arrays on different devices are refused with both") {
  const NDArray a = NDArray::ones({2}, Device::cpu());
  const NDArray b = NDArray::ones({2}, Device::gpu(0));
  const NDArray c = NDArray::ones({2}, Device::gpu(1));
  CHECK(refusal([&] { a + b; }) ==
        "[add] arrays on cpu(0) and gpu(0): expected one device; to() copies between devices");
  CHECK(refusal([&] { b* c; }) ==
        "[multiply] arrays on gpu(0) and gpu(1): expected one device; to() copies between "
        "devices");
}

TEST_CASE("pinned memory mixes with the CPU's") {
  const NDArray pinned = NDArray::ones({2}, Device::cpu_pinned());
  const NDArray plain = NDArray::ones({2}, Device::cpu());
  CHECK((pinned + plain).device() == Device::cpu());
  CHECK((pinned + pinned).device() == Device::cpu_pinned());
  CHECK(values(pinned + plain) == Values{2, 2});
}

TEST_CASE("an array that refers to nothing is refused") {
  const NDArray a = NDArray::ones({2}, Device::cpu());
  CHECK_THROWS_AS(a + NDArray(), std::invalid_argument);
  CHECK_THROWS_AS(exp(NDArray()), std::invalid_argument);
}

TEST_CASE("backward functions follow the derivative") {
  const NDArray grad = array({1, 2, 3}, {3}, DType::kFloat64);
  const NDArray x = array({-1, 0.5, 2}, {3}, DType::kFloat64);
  CHECK(values(relu_backward(grad, relu(x))) == Values{0, 2, 3});
  const auto slope = [](double y, double derivative) { return y * derivative; };
  Values through_sigmoid;
  Values through_tanh;
  const Values points = {-1, 0.5, 2};
  for (std::size_t i = 0; i < 3; ++i) {
    const double s = 1 / (1 + std::exp(-points[i]));
    const double t = std::tanh(points[i]);
    through_sigmoid.push_back(slope(static_cast<double>(i + 1), s * (1 - s)));
    through_tanh.push_back(slope(static_cast<double>(i + 1), 1 - t * t));
  }
  CHECK(support::close(values(sigmoid_backward(grad, sigmoid(x))), through_sigmoid, 1e-12));
  CHECK(support::close(values(tanh_backward(grad, tanh(x))), through_tanh, 1e-12));
}

TEST_CASE("backward functions refuse unequal shapes") {
  const NDArray grad = NDArray::ones({2}, Device::cpu());
  CHECK(refusal([&] { relu_backward(grad, NDArray::ones({3}, Device::cpu())); }) ==
        "[relu_backward] output of shape (3): expected (2)");
}

}  // namespace heddle
