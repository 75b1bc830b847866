#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/error.h"
#include "heddle/kvstore.h"
#include "heddle/ops.h"

#include "tests/kvstore/support.h"

namespace heddle {
namespace {

using Floats = std::vector<float>;
using support::vector_of;

const std::vector<float> kStart = {10, 20, 30};

NDArray like_start(Device device) { return NDArray::zeros({3}, device); }

Floats pulled(KVStore& store, const Key& key, Device device = Device::cpu()) {
  const NDArray out = like_start(device);
  store.pull(key, out);
  return out.to_vector<float>();
}

std::string any_type() { return GENERATE(as<std::string>(), "local", "device"); }

TEST_CASE("a store says what it is") {
  const std::string type = any_type();
  const auto store = KVStore::create(type);
  CHECK(store->type() == type);
  CHECK(store->rank() == 0);
  CHECK(store->num_workers() == 1);
  CHECK_NOTHROW(store->barrier());
}

TEST_CASE("a type that this build does not have is an Error that names it") {
  const std::string type =
      GENERATE(as<std::string>(), "device_tree", "nccl", "dist_sync", "dist_async",
               "dist_device_sync", "dist_device_async", "dist_sync_device", "dist_async_device");
  CHECK_THROWS_AS(KVStore::create(type), Error);
  CHECK_THROWS_WITH(KVStore::create(type), Catch::Contains(type));
}

TEST_CASE("a type that there is not is refused with a list of those that there are") {
  const std::string text = support::refusal([] { KVStore::create("Local"); });
  for (const char* type :
       {"'Local'", "local", "device", "device_tree", "nccl", "dist_sync", "dist_async",
        "dist_device_sync", "dist_device_async", "dist_sync_device", "dist_async_device"}) {
    CHECK_THAT(text, Catch::Contains(type));
  }
}

TEST_CASE("what is initialized can be pulled, on every device") {
  const auto store = KVStore::create(any_type());
  const Device given = GENERATE(Device::cpu(), Device::cpu_pinned(), Device::gpu(0));
  store->init(3, vector_of(kStart, given));
  store->init(4, NDArray::full({}, 7, given));
  const NDArray scalar = NDArray::zeros({}, Device::gpu(1));
  store->pull(4, scalar);
  CHECK(scalar.item<float>() == 7);
  CHECK(pulled(*store, 3, Device::cpu()) == kStart);
  CHECK(pulled(*store, 3, Device::gpu(0)) == kStart);
  CHECK(pulled(*store, 3, Device::gpu(1)) == kStart);
}

TEST_CASE("without updater and optimizer a push replaces") {
  const auto store = KVStore::create(any_type());
  store->init(3, vector_of(kStart));
  store->push(3, vector_of({1, 2, 3}, Device::gpu(0)));
  CHECK(pulled(*store, 3) == Floats{1, 2, 3});
  store->push(3, {vector_of({1, 2, 3}, Device::gpu(1)), vector_of({10, 10, 10}, Device::cpu())});
  CHECK(pulled(*store, 3) == Floats{11, 12, 13});
}

TEST_CASE("the same device may occur several times, and the same array") {
  const auto store = KVStore::create(any_type());
  store->init(3, vector_of(kStart));
  const NDArray twice = vector_of({1, 2, 3}, Device::gpu(1));
  store->push(3, {twice, vector_of({5, 5, 5}, Device::gpu(1)), twice});
  CHECK(pulled(*store, 3) == Floats{7, 9, 11});
}

TEST_CASE("devices and numbers of arrays may change from push to push") {
  const auto store = KVStore::create(any_type());
  store->init("w", vector_of(kStart));
  const std::vector<std::vector<Device>> sets = {
      {Device::gpu(0)},
      {Device::gpu(1), Device::gpu(0), Device::cpu()},
      {Device::cpu(), Device::cpu(1)},
      {Device::gpu(1), Device::gpu(1), Device::gpu(1), Device::gpu(0), Device::cpu_pinned()},
      {Device::cpu()}};
  for (const std::vector<Device>& devices : sets) {
    std::vector<NDArray> values;
    for (const Device device : devices) values.push_back(vector_of({1, 2, 3}, device));
    store->push("w", values);
    const auto n = static_cast<float>(devices.size());
    CHECK(pulled(*store, "w", devices.back()) == Floats{n, 2 * n, 3 * n});
  }
}

TEST_CASE("a store does not alias what it is given") {
  const auto store = KVStore::create(any_type());
  const Device device = GENERATE(Device::cpu(), Device::cpu_pinned(), Device::gpu(0));
  NDArray initial = vector_of(kStart, device);
  store->init(3, initial);
  initial += 1;
  CHECK(pulled(*store, 3) == kStart);

  NDArray value = vector_of({1, 2, 3}, device);
  store->push(3, value);
  value += 1;
  CHECK(pulled(*store, 3) == Floats{1, 2, 3});
  CHECK(value.to_vector<float>() == Floats{2, 3, 4});
}

TEST_CASE("what is pulled belongs to the caller") {
  const auto store = KVStore::create(any_type());
  const Device device = GENERATE(Device::cpu(), Device::cpu_pinned(), Device::gpu(0));
  store->init(3, vector_of(kStart, device));
  NDArray out = like_start(device);
  store->pull(3, out);
  out += 1;
  CHECK(pulled(*store, 3) == kStart);
  CHECK(out.to_vector<float>() == Floats{11, 21, 31});
}

TEST_CASE("pushpull may write into what it reads") {
  const auto store = KVStore::create(any_type());
  store->init(3, vector_of(kStart));
  const std::vector<NDArray> values = {vector_of({1, 2, 3}, Device::gpu(0)),
                                       vector_of({4, 5, 6}, Device::gpu(1)),
                                       vector_of({1, 1, 1}, Device::cpu())};
  store->pushpull(3, values, values);
  for (const NDArray& value : values) CHECK(value.to_vector<float>() == Floats{6, 8, 10});
}

TEST_CASE("pushpull of several keys pushes all before it pulls") {
  const auto store = KVStore::create(any_type());
  store->init({1, 2}, {vector_of(kStart), vector_of(kStart)});
  const NDArray a = vector_of({1, 1, 1}, Device::gpu(0));
  const NDArray b = vector_of({2, 2, 2}, Device::gpu(0));
  const std::vector<Key> keys = {1, 2};
  store->pushpull(keys, std::vector{a, b}, std::vector{b, a});
  CHECK(a.to_vector<float>() == Floats{2, 2, 2});
  CHECK(b.to_vector<float>() == Floats{1, 1, 1});
}

TEST_CASE("broadcast initializes and pulls") {
  const auto store = KVStore::create(any_type());
  const std::vector<NDArray> outs = {like_start(Device::gpu(0)), like_start(Device::cpu()),
                                     like_start(Device::gpu(1))};
  store->broadcast("w", vector_of(kStart, Device::gpu(1)), outs);
  for (const NDArray& out : outs) CHECK(out.to_vector<float>() == kStart);
  CHECK(pulled(*store, "w") == kStart);

  const NDArray x = like_start(Device::gpu(0));
  const NDArray y = like_start(Device::gpu(0));
  store->broadcast({"x", "y"}, {vector_of({1, 2, 3}), vector_of({4, 5, 6})}, {x, y});
  CHECK(x.to_vector<float>() == Floats{1, 2, 3});
  CHECK(y.to_vector<float>() == Floats{4, 5, 6});
}

TEST_CASE("equal keys of one call form one group") {
  const auto store = KVStore::create(any_type());
  const std::vector<Key> both = {1, 2};
  store->init(both, {vector_of(kStart), vector_of(kStart)});
  const std::vector<Key> keys = {2, 1, 2, 1};
  store->push(keys, {vector_of({1, 1, 1}, Device::gpu(0)), vector_of({10, 10, 10}, Device::gpu(0)),
                     vector_of({2, 2, 2}, Device::gpu(1)), vector_of({20, 20, 20}, Device::cpu())});
  const std::vector<NDArray> outs = {like_start(Device::gpu(0)), like_start(Device::gpu(0)),
                                     like_start(Device::gpu(1)), like_start(Device::cpu())};
  store->pull(keys, outs);
  CHECK(outs[0].to_vector<float>() == Floats{3, 3, 3});
  CHECK(outs[1].to_vector<float>() == Floats{30, 30, 30});
  CHECK(outs[2].to_vector<float>() == Floats{3, 3, 3});
  CHECK(outs[3].to_vector<float>() == Floats{30, 30, 30});
}

TEST_CASE("a call takes one group of arrays per key") {
  const auto store = KVStore::create(any_type());
  const std::vector<Key> keys = {"a", "b"};
  store->init(keys, {vector_of(kStart), vector_of(kStart)});
  const std::vector<std::vector<NDArray>> groups = {
      {vector_of({1, 1, 1}, Device::gpu(0)), vector_of({2, 2, 2}, Device::gpu(1))},
      {vector_of({5, 5, 5}, Device::gpu(1))}};
  const std::vector<std::vector<NDArray>> outs = {
      {like_start(Device::gpu(1))}, {like_start(Device::cpu()), like_start(Device::gpu(0))}};
  SECTION("push and pull") {
    store->push(keys, groups, 1);
    store->pull(keys, outs, 1);
  }
  SECTION("pushpull") { store->pushpull(keys, groups, outs, 1); }
  CHECK(outs[0][0].to_vector<float>() == Floats{3, 3, 3});
  CHECK(outs[1][0].to_vector<float>() == Floats{5, 5, 5});
  CHECK(outs[1][1].to_vector<float>() == Floats{5, 5, 5});
}

TEST_CASE("a key may be initialized after others were pushed") {
  const auto store = KVStore::create(any_type());
  store->init(1, vector_of(kStart));
  store->push(1, {vector_of({1, 2, 3}, Device::gpu(0)), vector_of({1, 2, 3}, Device::gpu(1))});
  store->init(2, vector_of(kStart));
  CHECK(pulled(*store, 2) == kStart);
  store->push(2, {vector_of({5, 6, 7}, Device::gpu(1)), vector_of({1, 1, 1}, Device::gpu(0))});
  CHECK(pulled(*store, 1) == Floats{2, 4, 6});
  CHECK(pulled(*store, 2) == Floats{6, 7, 8});
}

TEST_CASE("views are pushed and pulled like arrays of their own") {
  const auto store = KVStore::create(any_type());
  store->init(1, NDArray::zeros({2, 2}, Device::gpu(1)));
  const NDArray rows = NDArray::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}, Device::gpu(0));
  store->push(1, {rows.slice(0, 2), rows.slice(1, 3)});
  const NDArray out = NDArray::zeros({4, 2}, Device::gpu(0));
  store->pull(1, out.slice(1, 3));
  CHECK(out.to_vector<float>() == Floats{0, 0, 4, 6, 8, 10, 0, 0});
}

TEST_CASE("stores know nothing of each other's keys") {
  const auto one = KVStore::create("device");
  const auto other = KVStore::create("device");
  one->init(1, vector_of({1, 2, 3}));
  other->init("1", vector_of(kStart));
  one->push(1, vector_of({4, 5, 6}, Device::gpu(0)));
  CHECK(pulled(*one, 1) == Floats{4, 5, 6});
  CHECK(pulled(*other, "1") == kStart);
}

TEST_CASE("values of every type are summed") {
  const auto store = KVStore::create(any_type());
  const auto check = [&](const Key& key, auto one) {
    using T = decltype(one);
    const NDArray a = NDArray::from<T>({T(1), T(2)}, {2}, Device::gpu(0));
    const NDArray b = NDArray::from<T>({T(5), T(7)}, {2}, Device::gpu(1));
    store->init(key, a);
    store->pushpull(key, {a, b}, {a, b});
    CHECK(a.to_vector<T>() == std::vector<T>{T(6), T(9)});
    CHECK(b.to_vector<T>() == std::vector<T>{T(6), T(9)});
  };
  check(0, float());
  check(1, double());
  check(2, std::int8_t());
  check(3, std::uint8_t());
  check(4, std::int32_t());
  check(5, std::int64_t());
}

}  // namespace
}  // namespace heddle
