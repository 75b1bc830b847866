#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/kvstore.h"

#include "tests/kvstore/support.h"

namespace heddle {
namespace {

using support::refusal;

/// A store with the keys 3 and 4, both (3, 2).
class Misuse {
 public:
  Misuse() {
    store->init(3, NDArray::full({3, 2}, 3));
    store->init(4, NDArray::full({3, 2}, 4));
  }

  /// The text of the refusal; checks that nothing was changed or pushed.
  std::string of(const std::function<void(KVStore&)>& call) {
    Engine& engine = Engine::get();
    engine.wait_for_all();  // operations that end may push frees
    const Var probe = engine.new_variable();
    const auto mark = [&] { return engine.push([] {}, {}, {probe}); };
    const std::uint64_t before = mark();
    const std::string text = refusal([&] { call(*store); });
    CHECK(mark() == before + 1);
    CHECK(value_of(3) == std::vector<float>(6, 3));
    CHECK(value_of(4) == std::vector<float>(6, 4));
    CHECK_THAT(refusal([&] { store->pull(5, right); }), Catch::Contains("not initialized"));
    return text;
  }

  const std::unique_ptr<KVStore> store =
      KVStore::create(GENERATE(as<std::string>(), "local", "device"));
  const NDArray right = NDArray::zeros({3, 2}, Device::gpu(0));
  const NDArray wrong = NDArray::zeros({2, 3}, Device::gpu(0));
  const NDArray doubles = NDArray::zeros({3, 2}, Device::gpu(0), DType::kFloat64);

 private:
  std::vector<float> value_of(int key) {
    const NDArray out = NDArray::zeros({3, 2});
    store->pull(key, out);
    return out.to_vector<float>();
  }
};

const std::vector<NDArray> kNoArrays;
const std::vector<Key> kNoKeys;

TEST_CASE_METHOD(Misuse, "A value of another shape is refused") {
  CHECK(of([&](KVStore& kv) { kv.push(3, wrong); }) ==
        "[kvstore.push] key 3: shape (2, 3) where (3, 2) was initialized");
  CHECK(of([&](KVStore& kv) {
          kv.push({3, 4}, {right, wrong});
        }) == "[kvstore.push] key 4: shape (2, 3) where (3, 2) was initialized");
  CHECK(of([&](KVStore& kv) {
          kv.pull(3, {right, wrong});
        }) == "[kvstore.pull] key 3: shape (2, 3) where (3, 2) was initialized");
  CHECK(of([&](KVStore& kv) {
          kv.pushpull(3, {right}, {right, wrong});
        }) == "[kvstore.pushpull] key 3: shape (2, 3) where (3, 2) was initialized");
  CHECK(of([&](KVStore& kv) {
          kv.broadcast(5, right, {right, wrong});
        }) == "[kvstore.broadcast] key 5: shape (2, 3) where (3, 2) was initialized");
}

TEST_CASE_METHOD(Misuse, "A value of another type is refused") {
  CHECK(of([&](KVStore& kv) {
          kv.push(3, {right, doubles});
        }) == "[kvstore.push] key 3: type float64 where float32 was initialized");
  CHECK(of([&](KVStore& kv) { kv.pull(3, doubles); }) ==
        "[kvstore.pull] key 3: type float64 where float32 was initialized");
}

TEST_CASE_METHOD(Misuse, "A key that is not initialized is refused") {
  CHECK(of([&](KVStore& kv) {
          kv.push({3, 5}, {right, right});
        }) == "[kvstore.push] key 5: is not initialized");
  CHECK(of([&](KVStore& kv) { kv.pull(5, right); }) == "[kvstore.pull] key 5: is not initialized");
}

TEST_CASE_METHOD(Misuse, "A key is initialized once") {
  CHECK(of([&](KVStore& kv) { kv.init(3, right); }) ==
        "[kvstore.init] key 3: is initialized already");
  CHECK(of([&](KVStore& kv) {
          kv.init({5, 3}, {right, right});
        }) == "[kvstore.init] key 3: is initialized already");
  CHECK(of([&](KVStore& kv) {
          kv.init({5, 5}, {right, right});
        }) == "[kvstore.init] key 5: is initialized twice");
  CHECK(of([&](KVStore& kv) { kv.broadcast(3, right, right); }) ==
        "[kvstore.broadcast] key 3: is initialized already");
}

TEST_CASE_METHOD(Misuse, "Strings and integers do not mix") {
  CHECK(of([&](KVStore& kv) { kv.push("w", right); }) ==
        "[kvstore.push] key w: a string where this store's keys are integers");
  CHECK(of([&](KVStore& kv) { kv.init("w", right); }) ==
        "[kvstore.init] key w: a string where this store's keys are integers");
  const auto strings = KVStore::create("device");
  CHECK(refusal([&] {
          strings->init({"a", 1}, {right, right});
        }) == "[kvstore.init] key 1: an integer where this store's keys are strings");
  CHECK_THAT(refusal([&] { strings->pull("a", right); }), Catch::Contains("not initialized"));
}

TEST_CASE_METHOD(Misuse, "Lists must not be empty") {
  CHECK(of([&](KVStore& kv) { kv.push(3, kNoArrays); }) ==
        "[kvstore.push] key 3: no arrays: expected at least one");
  CHECK(of([&](KVStore& kv) { kv.pull(kNoKeys, kNoArrays); }) ==
        "[kvstore.pull] no keys: expected at least one");
  CHECK(of([&](KVStore& kv) {
          kv.push(std::vector<Key>{3, 4}, std::vector<std::vector<NDArray>>{{right}, {}});
        }) == "[kvstore.push] key 4: no arrays: expected at least one");
  CHECK(of([&](KVStore& kv) { kv.broadcast(5, right, kNoArrays); }) ==
        "[kvstore.broadcast] key 5: no arrays: expected at least one");
}

TEST_CASE_METHOD(Misuse, "Lists must be of one length") {
  CHECK(of([&](KVStore& kv) {
          kv.push({3, 4}, {right, right, right});
        }) == "[kvstore.push] 2 keys and 3 arrays: expected as many");
  CHECK(of([&](KVStore& kv) {
          kv.init({5, 6}, std::vector{right});
        }) == "[kvstore.init] 2 keys and 1 values: expected as many");
  CHECK(of([&](KVStore& kv) {
          kv.pushpull(std::vector<Key>{3, 4}, std::vector{right, right}, std::vector{right});
        }) == "[kvstore.pushpull] 2 keys and 1 outputs: expected as many");
}

TEST_CASE_METHOD(Misuse, "A handle that refers to nothing is refused") {
  CHECK(of([&](KVStore& kv) {
          kv.push(3, {right, NDArray()});
        }) == "[kvstore.push] key 3: an NDArray that refers to nothing");
  CHECK(of([&](KVStore& kv) { kv.init(5, NDArray()); }) ==
        "[kvstore.init] key 5: an NDArray that refers to nothing");
}

TEST_CASE_METHOD(Misuse, "An optimizer updates floating values only") {
  store->init(6, NDArray::zeros({2}, Device::cpu(), DType::kInt32));
  store->set_optimizer(Sgd{});
  const NDArray integers = NDArray::zeros({2}, Device::cpu(), DType::kInt32);
  CHECK(of([&](KVStore& kv) {
          kv.push(std::vector<Key>{3, 6}, std::vector{right, integers});
        }) == "[kvstore.push] key 6: type int32: the optimizer expects float32 or float64");
}

TEST_CASE_METHOD(Misuse, "Numbers of an optimizer out of their range are refused") {
  CHECK(of([](KVStore& kv) { kv.set_optimizer(Adam{.beta1 = 1}); }) ==
        "[kvstore.set_optimizer] beta1 1.000000: expected 0 <= beta1 < 1");
  CHECK_THAT(
      of([](KVStore& kv) { kv.set_optimizer(Sgd{.lr = std::numeric_limits<double>::infinity()}); }),
      Catch::Contains("lr inf: expected a finite number"));
}

TEST_CASE_METHOD(Misuse, "Compression that this build does not have is an Error that names it") {
  CHECK_NOTHROW(store->set_gradient_compression({.type = "none"}));
  CHECK_THROWS_WITH(store->set_gradient_compression({.type = "2bit"}), Catch::Contains("2bit"));
  CHECK_THROWS_AS(store->set_gradient_compression({.type = "1bit"}), Error);
  CHECK(of([](KVStore& kv) { kv.set_gradient_compression({.type = "4bit"}); }) ==
        "[kvstore.set_gradient_compression] type '4bit': expected none, 2bit or 1bit");
}

}  // namespace
}  // namespace heddle
