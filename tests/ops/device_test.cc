#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"
#include "heddle/random.h"

#include "tests/ops/arrays.h"
#include "tests/ops/sweep_cases.h"

// What every kind of device computes as the CPU does.

namespace heddle {

using support::close;
using support::spread;
using support::sweep_cases;
using support::SweepCase;
using support::Values;
using support::values;

namespace {

constexpr std::array kAllTypes = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                                  DType::kBFloat16, DType::kInt8,    DType::kUInt8,
                                  DType::kInt32,    DType::kInt64,   DType::kBool};

/// What `compute` makes of the inputs on the CPU and on a GPU.
template <class Compute>
void check_same(const std::vector<NDArray>& inputs, Compute compute) {
  std::vector<NDArray> there;
  for (const NDArray& input : inputs) there.push_back(input.to(Device::gpu(1)));
  const NDArray expected = compute(inputs);
  const NDArray result = compute(there);
  CHECK(result.device() == Device::gpu(1));
  CHECK(result.shape() == expected.shape());
  CHECK(result.dtype() == expected.dtype());
  CHECK(values(result) == values(expected));
}

/// Different numbers, whole and small enough for every type.
NDArray whole(Shape shape, DType dtype, std::uint64_t seed) {
  Values elements = spread(shape.size(), 11, seed);
  for (double& element : elements) {
    element = std::trunc(element);
    if (dtype == DType::kUInt8) element = std::abs(element);
  }
  return support::array(elements, std::move(shape), dtype);
}

}  // namespace

TEST_CASE("every operator of a GPU agrees with plain loops over double") {
  for (const SweepCase& operation : sweep_cases()) {
    CAPTURE(operation.name);
    std::vector<Values> on_host;
    std::vector<NDArray> inputs;
    for (const NDArray& input : operation.inputs) {
      on_host.push_back(values(input));
      inputs.push_back(input.to(Device::gpu(0)));
    }
    Values all;
    for (const NDArray& result : operation.run(inputs)) {
      CHECK(result.device() == Device::gpu(0));
      const Values some = values(result);
      all.insert(all.end(), some.begin(), some.end());
    }
    CHECK(close(all, operation.reference(on_host), 4e-6));
  }
}

TEST_CASE("arithmetic of every type has the CPU's bits on a GPU") {
  for (const DType dtype : kAllTypes) {
    CAPTURE(dtype_name(dtype));
    const std::vector<NDArray> same = {whole({7, 33}, dtype, 1), whole({7, 33}, dtype, 2)};
    const std::vector<NDArray> broadcast = {whole({5, 1, 3}, dtype, 3), whole({4, 1}, dtype, 4)};
    for (const auto& inputs : {same, broadcast}) {
      check_same(inputs, [](const auto& x) { return x[0] + x[1]; });
      check_same(inputs, [](const auto& x) { return x[0] * x[1]; });
      check_same(inputs, [](const auto& x) { return maximum(x[0], x[1]); });
      check_same(inputs, [](const auto& x) { return minimum(x[1], x[0]); });
    }
    check_same(same, [](const auto& x) { return x[0] * 2 + 1; });
    check_same(same, [](const auto& x) { return 3 + x[1]; });
    check_same(same, [](const auto& x) { return abs(x[0]); });
    check_same(same, [](const auto& x) { return relu(x[0]); });
  }
}

TEST_CASE("in-place arithmetic of a GPU has the CPU's bits") {
  const std::vector<NDArray> inputs = {whole({6, 5}, DType::kFloat32, 1),
                                       whole({5}, DType::kFloat32, 2)};
  check_same(inputs, [](const auto& x) {
    NDArray y = x[0].copy();
    y += x[1];
    y *= 3;
    y.slice(2, 4) -= x[0].slice(0, 2);
    return y;
  });
}

TEST_CASE("every conversion has the CPU's bits on a GPU") {
  const Values numbers = {0, 1, -1, 2.5, -2.5, 65504, 1e-6, 3e38, -3e38, 300, -129, 0.1};
  for (const DType from : kAllTypes) {
    const NDArray x = NDArray::from(numbers, {12}).astype(from);
    for (const DType to : kAllTypes) {
      CAPTURE(dtype_name(from), dtype_name(to));
      check_same({x}, [to](const auto& inputs) { return inputs[0].astype(to); });
    }
  }
}

TEST_CASE("arrays are filled on a GPU as on the CPU") {
  for (const DType dtype : kAllTypes) {
    CAPTURE(dtype_name(dtype));
    const auto at = [dtype](Device device) {
      return values(NDArray::full({1000}, 1, device, dtype));
    };
    CHECK(at(Device::gpu(0)) == at(Device::cpu()));
    const auto range = [dtype](Device device) {
      return values(NDArray::arange(0, 100, 1, device, dtype));
    };
    CHECK(range(Device::gpu(0)) == range(Device::cpu()));
  }
  const auto fractions = [](Device device) {
    return values(NDArray::arange(-1.5, 7, 0.1, device, DType::kFloat64));
  };
  CHECK(fractions(Device::gpu(0)) == fractions(Device::cpu()));
}

TEST_CASE("reductions of every shape agree between the CPU and a GPU") {
  for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kUInt8}) {
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{2, 31, 2}, Shape{4, 33}, Shape{2, 40000}}) {
      CAPTURE(dtype_name(dtype), shape.str());
      const std::vector<NDArray> x = {whole(shape, dtype, 5)};
      for (int axis = 0; axis < shape.ndim(); ++axis) {
        check_same(x, [axis](const auto& in) { return sum(in[0], axis); });
        check_same(x, [axis](const auto& in) { return max(in[0], axis); });
        check_same(x, [axis](const auto& in) { return min(in[0], axis); });
        check_same(x, [axis](const auto& in) { return argmax(in[0], axis); });
      }
      check_same(x, [](const auto& in) { return sum(in[0]); });
      check_same(x, [](const auto& in) { return mean(in[0]); });
      check_same(x, [](const auto& in) { return argmax(in[0]); });
    }
  }
}

TEST_CASE("argmax finds the first NaN on a GPU") {
  std::vector<float> elements(1000, 1.0F);
  elements[400] = elements[700] = std::numeric_limits<float>::quiet_NaN();
  elements[3] = std::numeric_limits<float>::infinity();
  CHECK(argmax(NDArray::from(elements, {1000}, Device::gpu(0))).item<std::int64_t>() == 400);
}

TEST_CASE("elements are moved on a GPU as on the CPU") {
  const NDArray x = NDArray::arange(0, 210, 1).reshape({5, 6, 7});
  const NDArray indices = NDArray::from<std::int64_t>({3, 0, 3, 4}, {2, 2});
  check_same({x}, [](const auto& in) { return transpose(in[0]); });
  check_same({x}, [](const auto& in) { return transpose(in[0], {1, 2, 0}); });
  check_same({x}, [](const auto& in) { return transpose(in[0].reshape({70, 3})); });
  check_same({x, indices}, [](const auto& in) { return take(in[0], in[1], 0); });
  check_same({x, indices}, [](const auto& in) { return take(in[0], in[1], 1); });
  check_same({indices}, [](const auto& in) { return one_hot(in[0], 6); });
  check_same({x, x}, [](const auto& in) { return concat({in[0], in[1], in[0]}, 1); });
  check_same({x}, [](const auto& in) {
    return where((in[0] - 100).astype(DType::kBool), in[0], in[0] * 2);
  });
}

TEST_CASE("a GPU draws the CPU's bits") {
  const auto check_draw = [](auto draw) {
    random::seed(91);
    const Values on_cpu = values(draw(Device::cpu()));
    CHECK(values(draw(Device::gpu(0))) == on_cpu);
  };
  for (const std::int64_t n : {1, 6, 1001, 300000}) {
    CAPTURE(n);
    check_draw([n](Device device) { return random::uniform(-1, 3, {n}, device); });
    check_draw([n](Device device) { return random::normal(1, 2, {n}, device); });
    check_draw([n](Device device) { return random::bernoulli(0.3, {n}, device); });
    check_draw([n](Device device) { return random::randint(-5, 1000, {n}, device); });
    check_draw([n](Device device) {
      return random::randint(-(std::int64_t{1} << 62), std::int64_t{1} << 62, {n}, device);
    });
  }
}

TEST_CASE("a wrong label on a GPU fails its operation and nothing else") {
  const NDArray logits = NDArray::ones({4, 3}, Device::gpu(0));
  const NDArray wrong = NDArray::from<float>({0, 3, 1, 0.5F}, {4}, Device::gpu(0));
  const NDArray right = NDArray::from<float>({0, 2, 1, 0}, {4}, Device::gpu(0));
  const NDArray bad = softmax_cross_entropy(logits, wrong);
  const NDArray bad_gradient = softmax_cross_entropy_backward(logits, wrong);
  const NDArray good = softmax_cross_entropy(logits, right);
  CHECK_THROWS_AS(bad.item<float>(), OpError);
  CHECK_THROWS_WITH(bad_gradient.wait_to_read(), Catch::Matchers::Contains("label") &&
                                                     Catch::Matchers::Contains("expected a whole"));
  CHECK(std::abs(good.item<float>() - std::log(3.0F)) < 1e-6F);
  CHECK_THROWS_AS(take(logits, wrong, 0).wait_to_read(), OpError);
}

TEST_CASE("arrays without elements pass through the operators of a GPU") {
  const NDArray none = NDArray::ones({0, 3}, Device::gpu(0));
  CHECK(values(none + none).empty());
  CHECK(values(exp(none * 2)).empty());
  CHECK(values(softmax(none)).empty());
  CHECK(values(sum(none, 0)) == Values{0, 0, 0});
  CHECK(values(transpose(none)).empty());
  CHECK(values(dot(none, NDArray::ones({3, 2}, Device::gpu(0)))).empty());
  CHECK(values(dot(transpose(none), none)) == Values(9, 0));
}

}  // namespace heddle
