#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/kvstore.h"

#include "tests/kvstore/support.h"

namespace heddle {
namespace {

using Floats = std::vector<float>;
using support::vector_of;

std::string any_type() { return GENERATE(as<std::string>(), "local", "device"); }

Floats pulled(KVStore& store, const Key& key, std::int64_t size = 3) {
  const NDArray out = NDArray::zeros({size}, Device::gpu(0));
  store.pull(key, out);
  return out.to_vector<float>();
}

std::vector<NDArray> on_both(const Floats& values) {
  return {vector_of(values, Device::gpu(0)), vector_of(values, Device::gpu(1))};
}

TEST_CASE("the updater gets the sum and the stored value") {
  const auto store = KVStore::create(any_type());
  store->init(3, vector_of({10, 20, 30}));
  store->set_updater([](const Key& key, const NDArray& received, NDArray& stored) {
    if (key == Key(3)) stored += received * 2;
  });
  store->push(3, on_both({1, 2, 3}));
  CHECK(pulled(*store, 3) == Floats{14, 28, 42});
  store->push(3, vector_of({1, 1, 1}));
  CHECK(pulled(*store, 3) == Floats{16, 30, 44});
}

TEST_CASE("the updater is called once per key and push, on the pushing thread, before push ends") {
  const auto store = KVStore::create(any_type());
  store->init({1, 2}, {vector_of({1, 1, 1}), vector_of({2, 2, 2})});
  std::vector<std::string> calls;
  std::vector<std::thread::id> threads;
  store->set_updater([&](const Key& key, const NDArray&, NDArray&) {
    calls.push_back(key.str());
    threads.push_back(std::this_thread::get_id());
  });
  const NDArray value = vector_of({1, 1, 1}, Device::gpu(0));
  store->push(std::vector<Key>{2, 1, 2}, std::vector{value, value, value});
  CHECK(calls == std::vector<std::string>{"2", "1"});
  store->push(1, {value, value});
  CHECK(calls == std::vector<std::string>{"2", "1", "1"});
  CHECK(threads == std::vector(3, std::this_thread::get_id()));
}

TEST_CASE("what the updater throws leaves push and keeps the later keys as they were") {
  const auto store = KVStore::create(any_type());
  store->init({1, 2, 3}, {vector_of({1, 1, 1}), vector_of({2, 2, 2}), vector_of({3, 3, 3})});
  store->set_updater([](const Key& key, const NDArray& received, NDArray& stored) {
    stored = received;
    if (key == Key(2)) throw std::domain_error("no");
  });
  const NDArray value = vector_of({7, 7, 7}, Device::gpu(0));
  const std::vector<Key> keys = {1, 2, 3};
  CHECK_THROWS_AS(store->push(keys, std::vector{value, value, value}), std::domain_error);
  CHECK(pulled(*store, 1) == Floats{7, 7, 7});
  CHECK(pulled(*store, 2) == Floats{2, 2, 2});
  CHECK(pulled(*store, 3) == Floats{3, 3, 3});
}

TEST_CASE("the updater may keep what it receives, also as the stored value") {
  const auto store = KVStore::create(any_type());
  store->init(3, vector_of({10, 20, 30}));
  std::vector<NDArray> received_so_far;
  store->set_updater([&](const Key&, const NDArray& received, NDArray& stored) {
    received_so_far.push_back(received);
    stored = received;
  });
  store->push(3, on_both({1, 2, 3}));
  store->push(3, vector_of({5, 5, 5}));
  CHECK(received_so_far.at(0).to_vector<float>() == Floats{2, 4, 6});
  CHECK(received_so_far.at(1).to_vector<float>() == Floats{5, 5, 5});
  CHECK(pulled(*store, 3) == Floats{5, 5, 5});
}

TEST_CASE("the updater does not get the caller's array") {
  const auto store = KVStore::create(any_type());
  const Device device = GENERATE(Device::cpu(), Device::gpu(0));
  store->init(3, vector_of({10, 20, 30}));
  store->set_updater([](const Key&, const NDArray& received, NDArray&) {
    NDArray mine = received;
    mine += 1;
  });
  const NDArray value = vector_of({1, 2, 3}, device);
  store->push(3, value);
  CHECK(value.to_vector<float>() == Floats{1, 2, 3});
}

TEST_CASE("an updater that leaves an array of another shape is refused") {
  const auto store = KVStore::create(any_type());
  store->init(3, vector_of({10, 20, 30}));
  store->set_updater(
      [](const Key&, const NDArray&, NDArray& stored) { stored = NDArray::zeros({2}); });
  CHECK_THROWS_AS(store->push(3, vector_of({1, 2, 3})), std::invalid_argument);
  CHECK(pulled(*store, 3) == Floats{10, 20, 30});
}

TEST_CASE("the updater may call the store") {
  const auto store = KVStore::create(any_type());
  store->init(1, vector_of({1, 2, 3}));
  store->set_updater([&](const Key& key, const NDArray& received, NDArray& stored) {
    const NDArray before = NDArray::zeros({3}, stored.device());
    store->pull(key, before);
    stored = before + received;
    store->set_updater({});
  });
  store->push(1, on_both({1, 1, 1}));
  CHECK(pulled(*store, 1) == Floats{3, 4, 5});
  store->push(1, on_both({1, 1, 1}));
  CHECK(pulled(*store, 1) == Floats{2, 2, 2});
}

TEST_CASE("updater, optimizer and replacing may follow each other, also on a big value") {
  constexpr std::int64_t kSize = 200001;
  const auto store = KVStore::create(any_type());
  const Floats ones(kSize, 1);
  store->init(1, vector_of(ones));
  store->push(1, on_both(ones));
  CHECK(pulled(*store, 1, kSize) == Floats(kSize, 2));
  store->set_updater(
      [](const Key&, const NDArray& received, NDArray& stored) { stored += received; });
  store->push(1, on_both(ones));
  CHECK(pulled(*store, 1, kSize) == Floats(kSize, 4));
  store->set_optimizer(Sgd{.lr = 0.5});
  store->push(1, on_both(ones));
  CHECK(pulled(*store, 1, kSize) == Floats(kSize, 3));
  store->set_updater({});
  store->push(1, on_both(ones));
  CHECK(pulled(*store, 1, kSize) == Floats(kSize, 2));
}

}  // namespace
}  // namespace heddle
