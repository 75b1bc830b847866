#include <cmath>
#include <cstdint>
#include <string>

#include <catch2/catch.hpp>

#include "heddle/error.h"

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::close;
using support::numeric_gradient;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

TEST_CASE("softmax_cross_entropy is the mean over the rows") {
  const NDArray logits = array({0, 0, 0, 0, std::log(3.0), 0}, {3, 2}, DType::kFloat64);
  const NDArray labels = array({0, 1, 0}, {3}, DType::kInt64);
  const double expected = (std::log(2.0) + std::log(2.0) + std::log(4.0 / 3.0)) / 3;
  const NDArray loss = softmax_cross_entropy(logits, labels);
  CHECK(loss.shape() == Shape{});
  CHECK(loss.item<double>() == Approx(expected));
}

TEST_CASE("softmax_cross_entropy takes labels of any type") {
  const NDArray logits = array(spread(40, 3), {4, 10});
  const Values labels = {9, 0, 3, 7};
  const float expected =
      softmax_cross_entropy(logits, array(labels, {4}, DType::kInt64)).item<float>();
  for (const DType dtype : {DType::kInt8, DType::kUInt8, DType::kInt32, DType::kFloat32,
                            DType::kFloat64, DType::kFloat16}) {
    CAPTURE(dtype_name(dtype));
    CHECK(softmax_cross_entropy(logits, array(labels, {4}, dtype)).item<float>() == expected);
  }
}

TEST_CASE("softmax_cross_entropy of great logits stays finite") {
  const NDArray logits = array({1e4, -1e4, 0, -1e4, 1e4, 0}, {2, 3});
  const NDArray labels = array({0, 0}, {2}, DType::kInt32);
  CHECK(softmax_cross_entropy(logits, labels).item<float>() == 1e4F);
}

TEST_CASE("softmax_cross_entropy handles more classes than a chunk") {
  const NDArray logits = NDArray::zeros({2, 1000}, Device::cpu());
  const NDArray labels = array({999, 0}, {2}, DType::kInt32);
  CHECK(softmax_cross_entropy(logits, labels).item<float>() == Approx(std::log(1000.0)));
}

TEST_CASE("softmax_cross_entropy_backward is the gradient") {
  const Shape shape{5, 7};
  const Values logits = spread(35, 2);
  const NDArray labels = array({6, 0, 3, 3, 1}, {5}, DType::kInt32);
  const auto loss = [&](const NDArray& x) { return softmax_cross_entropy(x, labels); };
  const NDArray gradient =
      softmax_cross_entropy_backward(array(logits, shape, DType::kFloat64), labels);
  CHECK(close(values(gradient), numeric_gradient(loss, shape, logits), 1e-8));
}

TEST_CASE("a label outside the classes is an OpError that names it") {
  const NDArray logits = NDArray::zeros({3, 10}, Device::cpu());
  for (const double label : {10.0, -1.0, 2.5}) {
    const NDArray labels = array({1, label, 2}, {3});
    for (const NDArray& result :
         {softmax_cross_entropy(logits, labels), softmax_cross_entropy_backward(logits, labels)}) {
      CHECK_THROWS_AS(result.wait_to_read(), OpError);
    }
  }
  const NDArray result = softmax_cross_entropy(logits, array({1, 12, 2}, {3}, DType::kInt64));
  try {
    result.wait_to_read();
    FAIL("nothing was thrown");
  } catch (const OpError& error) {
    CHECK(error.op_name() == "softmax_cross_entropy");
    CHECK_THAT(error.what(), Catch::Contains("label 12 at position 1: expected a whole number >= "
                                             "0 and < 10"));
  }
}

TEST_CASE("softmax_cross_entropy refuses shapes that do not fit") {
  const NDArray logits = NDArray::zeros({3, 10}, Device::cpu());
  CHECK(refusal([&] { softmax_cross_entropy(logits, NDArray::zeros({4}, Device::cpu())); }) ==
        "[softmax_cross_entropy] labels of shape (4): expected (3)");
  CHECK(refusal([&] { softmax_cross_entropy(logits.at(0), logits); }) ==
        "[softmax_cross_entropy] logits of shape (10): expected 2 dimensions");
  const NDArray none = NDArray::zeros({0, 10}, Device::cpu());
  CHECK(refusal([&] { softmax_cross_entropy_backward(none, none); }) ==
        "[softmax_cross_entropy_backward] logits of shape (0, 10): expected rows and classes");
}

}  // namespace heddle
