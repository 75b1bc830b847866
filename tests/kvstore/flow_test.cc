#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/kvstore.h"

#include "tests/kvstore/support.h"

namespace heddle {
namespace {

using Floats = std::vector<float>;
using support::vector_of;

std::string any_type() { return GENERATE(as<std::string>(), "local", "device"); }

void poison(const NDArray& array) {
  Engine::get().push([] { throw std::runtime_error("bad gradient"); }, {}, {array.var()},
                     {.device = array.device(), .name = "backward"});
}

/// The operation whose error reading `array` throws; "" if it throws none.
std::string culprit(const NDArray& array) {
  try {
    array.wait_to_read();
  } catch (const OpError& error) {
    return error.op_name();
  }
  return "";
}

TEST_CASE("an error of a gradient reaches whoever pulls, until a push replaces the value") {
  const auto store = KVStore::create(any_type());
  const std::int64_t size = GENERATE(3, 200001);
  store->init(1, NDArray::zeros({size}));
  const NDArray good = NDArray::ones({size}, Device::gpu(0));
  const NDArray bad = NDArray::ones({size}, Device::gpu(1));
  const NDArray out = NDArray::zeros({size}, Device::gpu(0));
  poison(bad);
  store->push(1, {good, bad});
  store->pull(1, out);
  CHECK(culprit(out) == "backward");
  CHECK(culprit(good).empty());

  store->push(1, {good, good});
  store->pull(1, out);
  CHECK(culprit(out).empty());
  CHECK(out.to_vector<float>() == Floats(static_cast<std::size_t>(size), 2));
}

TEST_CASE("an error of one key does not touch another") {
  const auto store = KVStore::create(any_type());
  store->init({1, 2}, {vector_of({1}), vector_of({2})});
  const NDArray bad = vector_of({1}, Device::gpu(1));
  poison(bad);
  const std::vector<Key> keys = {1, 2};
  store->push(keys, std::vector{bad, vector_of({5}, Device::gpu(1))});
  const NDArray out = NDArray::zeros({1});
  store->pull(2, out);
  CHECK(culprit(out).empty());
  CHECK(out.item<float>() == 5);
  CHECK_THROWS_AS(Engine::get().wait_for_all(), AggregateError);
}

TEST_CASE("an error of a gradient poisons a value that an optimizer updates") {
  const auto store = KVStore::create(any_type());
  store->set_optimizer(Sgd{.lr = 1, .momentum = 0.5});
  store->init(1, vector_of({1}));
  const NDArray bad = vector_of({1}, Device::gpu(1));
  poison(bad);
  const NDArray out = NDArray::zeros({1}, Device::gpu(0));
  store->push(1, {vector_of({1}, Device::gpu(0)), bad});
  store->pull(1, out);
  CHECK(culprit(out) == "backward");
  store->push(1, {vector_of({1}, Device::gpu(0)), vector_of({1}, Device::gpu(1))});
  store->pull(1, out);
  CHECK(culprit(out) == "backward");
}

TEST_CASE("pulling over a poisoned array heals it") {
  const auto store = KVStore::create(any_type());
  store->init(1, vector_of({1, 2}));
  const NDArray out = NDArray::zeros({2}, Device::gpu(0));
  poison(out);
  store->pull(1, out);
  CHECK(culprit(out).empty());
  CHECK(out.to_vector<float>() == Floats{1, 2});
  CHECK_THROWS_AS(Engine::get().wait_for_all(), AggregateError);
}

TEST_CASE("the caller may drop its arrays, and the store, with operations in flight") {
  const NDArray out = NDArray::zeros({100000}, Device::gpu(1));
  {
    const auto store = KVStore::create(any_type());
    store->set_optimizer(Sgd{.lr = 1, .momentum = 0.9});
    store->init(1, NDArray::zeros({100000}));
    for (int i = 0; i < 5; ++i) {
      store->push(1, {NDArray::ones({100000}, Device::gpu(0)),
                      NDArray::full({100000}, -2, Device::gpu(1))});
    }
    store->set_optimizer(Sgd{.lr = 1});
    store->push(1, NDArray::zeros({100000}, Device::cpu()));
    store->pull(1, out);
  }
  const Floats values = out.to_vector<float>();
  CHECK(values == Floats(100000, values[0]));
  CHECK(values[0] > 5);
}

}  // namespace
}  // namespace heddle
