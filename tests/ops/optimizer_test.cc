#include <cmath>
#include <cstdint>

#include <catch2/catch.hpp>

#include "tests/ops/arrays.h"

namespace heddle {

using support::array;
using support::close;
using support::refusal;
using support::spread;
using support::Values;
using support::values;

namespace {

constexpr std::int64_t kCount = 101;

NDArray copy_of(const Values& x, DType dtype = DType::kFloat64) {
  return array(x, {kCount}, dtype).copy();
}

}  // namespace

TEST_CASE("sgd_update steps down the gradient") {
  const Values w = spread(kCount, 1, 1);
  const Values g = spread(kCount, 1, 2);
  const NDArray weight = copy_of(w);
  sgd_update(weight, copy_of(g), 0.1, 0.01);
  Values expected;
  for (std::size_t i = 0; i < w.size(); ++i) expected.push_back(w[i] - 0.1 * (g[i] + 0.01 * w[i]));
  CHECK(close(values(weight), expected, 1e-14));
}

TEST_CASE("sgd_mom_update keeps a velocity") {
  Values w = spread(kCount, 1, 1);
  Values m(kCount, 0.0);
  const NDArray weight = copy_of(w);
  const NDArray momentum = copy_of(m);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Values g = spread(kCount, 1, 10 + step);
    sgd_mom_update(weight, copy_of(g), momentum, 0.1, 0.9, 0.01);
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = 0.9 * m[i] - 0.1 * (g[i] + 0.01 * w[i]);
      w[i] += m[i];
    }
  }
  CHECK(close(values(weight), w, 1e-13));
  CHECK(close(values(momentum), m, 1e-13));
}

TEST_CASE("adam_update corrects the bias of its averages") {
  Values w = spread(kCount, 1, 1);
  Values mean(kCount, 0.0);
  Values var(kCount, 0.0);
  const NDArray weight = copy_of(w);
  const NDArray first = copy_of(mean);
  const NDArray second = copy_of(var);
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Values g = spread(kCount, 1, static_cast<std::uint64_t>(20 + step));
    adam_update(weight, copy_of(g), first, second, 0.01, 0.9, 0.999, 1e-8, 0.1, step);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double slope = g[i] + 0.1 * w[i];
      mean[i] = 0.9 * mean[i] + 0.1 * slope;
      var[i] = 0.999 * var[i] + 0.001 * slope * slope;
      const double mean_hat = mean[i] / (1 - std::pow(0.9, step));
      const double var_hat = var[i] / (1 - std::pow(0.999, step));
      w[i] -= 0.01 * mean_hat / (std::sqrt(var_hat) + 1e-8);
    }
  }
  CHECK(close(values(weight), w, 1e-12));
  CHECK(close(values(second), var, 1e-12));
}

TEST_CASE("optimizers work on float32 and on slices") {
  const NDArray table = array({1, 2, 3, 4}, {2, 2});
  sgd_update(table.at(1), array({1, 1}, {2}), 0.5);
  CHECK(values(table) == Values{1, 2, 2.5, 3.5});
}

TEST_CASE("a step of part of an array changes that part only, however long it is") {
  const std::int64_t size = GENERATE(1, 15, 16, 17, 31, 32, 33, 95, 96, 700);
  const Values w = spread(size + 2, 1, 1);
  const Values g = spread(size + 2, 1, 2);
  const auto middle = [&](const NDArray& x) { return x.slice(1, 1 + size); };
  const NDArray weight = array(w, {size + 2}, DType::kFloat64).copy();
  sgd_update(middle(weight), middle(array(g, {size + 2}, DType::kFloat64)), 0.5);
  Values expected = w;
  for (std::size_t i = 1; i + 1 < w.size(); ++i) expected[i] -= 0.5 * g[i];
  CHECK(values(weight) == expected);
}

TEST_CASE("optimizers refuse what does not match the weight") {
  const NDArray w = NDArray::ones({3}, Device::cpu());
  const NDArray longer = NDArray::ones({4}, Device::cpu());
  CHECK(refusal([&] { sgd_update(w, longer, 0.1); }) ==
        "[sgd_update] g of shape (4): expected (3)");
  CHECK(refusal([&] { sgd_mom_update(w, w, longer, 0.1, 0.9); }) ==
        "[sgd_mom_update] m of shape (4): expected (3)");
  CHECK(refusal([&] { sgd_update(w, NDArray::ones({3}, Device::gpu(0)), 0.1); }) ==
        "[sgd_update] arrays on cpu(0) and gpu(0): expected one device; to() copies between "
        "devices");
  CHECK(refusal([&] { adam_update(w, w, w, w, 0.1, 0.9, 0.99, 1e-8, 0, 0); }) ==
        "[adam_update] step 0: expected 1 or more");
}

}  // namespace heddle
