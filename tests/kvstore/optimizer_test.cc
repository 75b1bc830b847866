#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/kvstore.h"
#include "heddle/ops.h"

#include "tests/kvstore/support.h"

namespace heddle {
namespace {

using Floats = std::vector<float>;
using support::vector_of;

/// Small, odd, and big enough to be divided among devices or workers.
std::int64_t any_size() { return GENERATE(1, 33, 1000, 5000, 200001); }

struct Trained {
  Floats stored;
  Floats expected;
};

/// Three pushes to a store with `optimizer`, and the same with `step(number, weight, sum)`, which
/// gets the serial sum.
template <class Step>
Trained train(const std::string& type, const Optimizer& optimizer, std::int64_t size,
              const std::vector<Device>& devices, Step step) {
  const auto store = KVStore::create(type);
  support::Random random(static_cast<std::uint64_t>(size));
  const Floats start = support::fractions(random, size);
  NDArray weight = vector_of(start);
  store->set_optimizer(optimizer);
  store->init("w", weight);
  for (int number = 1; number <= 3; ++number) {
    std::vector<NDArray> gradients;
    NDArray sum;
    for (const Device device : devices) {
      gradients.push_back(vector_of(support::fractions(random, size), device));
      const NDArray here = gradients.back().to(Device::cpu());
      sum = sum ? sum + here : here;
    }
    store->push("w", gradients);
    step(number, weight, sum);
  }
  const NDArray out = NDArray::zeros({size}, Device::gpu(1));
  store->pull("w", out);
  return {out.to_vector<float>(), weight.to_vector<float>()};
}

std::string any_type() { return GENERATE(as<std::string>(), "local", "device"); }

std::vector<Device> any_devices() {
  const int choice = GENERATE(0, 1, 2);
  if (choice == 0) return {Device::gpu(1)};
  if (choice == 1) return {Device::gpu(0), Device::gpu(1)};
  return {Device::gpu(1), Device::cpu(), Device::gpu(0), Device::gpu(1), Device::gpu(0)};
}

TEST_CASE("Sgd is the serial sum followed by sgd_update, bit for bit") {
  const std::int64_t size = any_size();
  const Trained trained =
      train(any_type(), Sgd{.lr = 0.1, .weight_decay = 0.01}, size, any_devices(),
            [](int, const NDArray& w, const NDArray& g) { sgd_update(w, g, 0.1, 0.01); });
  CHECK(trained.stored == trained.expected);
}

TEST_CASE("Sgd with momentum is the serial sum followed by sgd_mom_update, bit for bit") {
  const std::int64_t size = any_size();
  const NDArray velocity = NDArray::zeros({size});
  const Trained trained = train(any_type(), Sgd{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01},
                                size, any_devices(), [&](int, const NDArray& w, const NDArray& g) {
                                  sgd_mom_update(w, g, velocity, 0.1, 0.9, 0.01);
                                });
  CHECK(trained.stored == trained.expected);
}

TEST_CASE("Adam is the serial sum followed by adam_update, bit for bit") {
  const std::int64_t size = any_size();
  const NDArray mean = NDArray::zeros({size});
  const NDArray var = NDArray::zeros({size});
  const Trained trained = train(any_type(), Adam{.lr = 0.1, .beta1 = 0.8}, size, any_devices(),
                                [&](int number, const NDArray& w, const NDArray& g) {
                                  adam_update(w, g, mean, var, 0.1, 0.8, 0.999, 1e-8, 0, number);
                                });
  CHECK(trained.stored == trained.expected);
}

TEST_CASE("Sgd with momentum does what its formula says") {
  const auto store = KVStore::create(any_type());
  store->set_optimizer(Sgd{.lr = 0.5, .momentum = 0.5, .weight_decay = 0.25});
  store->init(0, NDArray::from<double>({8}, {1}));
  double weight = 8;
  double velocity = 0;
  for (const double gradient : {2.0, -1.0, 4.0}) {
    store->push(0, NDArray::from<double>({gradient}, {1}, Device::gpu(0)));
    velocity = 0.5 * velocity - 0.5 * (gradient + 0.25 * weight);
    weight += velocity;
  }
  const NDArray out = NDArray::zeros({1}, Device::cpu(), DType::kFloat64);
  store->pull(0, out);
  CHECK(out.item<double>() == weight);
}

TEST_CASE("Adam does what its formula says") {
  const auto store = KVStore::create(any_type());
  store->set_optimizer(Adam{.lr = 0.1, .epsilon = 1e-3, .weight_decay = 0.5});
  store->init(0, NDArray::from<double>({2}, {1}));
  double weight = 2;
  double mean = 0;
  double var = 0;
  int step = 0;
  for (const double gradient : {2.0, -1.0, 4.0}) {
    store->push(0, NDArray::from<double>({gradient}, {1}, Device::gpu(0)));
    const double slope = gradient + 0.5 * weight;
    ++step;
    mean = 0.9 * mean + 0.1 * slope;
    var = 0.999 * var + 0.001 * slope * slope;
    weight -= 0.1 * (mean / (1 - std::pow(0.9, step))) /
              (std::sqrt(var / (1 - std::pow(0.999, step))) + 1e-3);
  }
  const NDArray out = NDArray::zeros({1}, Device::cpu(), DType::kFloat64);
  store->pull(0, out);
  CHECK(out.item<double>() == Approx(weight).epsilon(1e-12));
}

TEST_CASE("a new optimizer starts with state of zeros") {
  const auto store = KVStore::create(any_type());
  store->init(0, vector_of({0}));
  const NDArray gradient = vector_of({-1}, Device::gpu(0));
  const NDArray out = NDArray::zeros({1});
  for (int i = 0; i < 2; ++i) {
    store->set_optimizer(Sgd{.lr = 1, .momentum = 0.5});
    store->push(0, gradient);
    store->push(0, gradient);
  }
  store->pull(0, out);
  CHECK(out.item<float>() == 2 * (1 + 1.5F));
}

}  // namespace
}  // namespace heddle
