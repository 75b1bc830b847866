#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/kvstore.h"
#include "heddle/ops.h"

#include "tests/kvstore/support.h"
#include "tests/support/scale.h"

namespace heddle {
namespace {

using Floats = std::vector<float>;

/// A random program on a store beside the serial one on plain vectors. Values are whole numbers
/// that stay small enough for every sum to be exact, so the two must agree in every bit.
class RandomProgram {
 public:
  RandomProgram(const std::string& type, std::uint64_t seed)
      : random_(seed), store_(KVStore::create(type)), mode_(random_.below(3)) {
    if (mode_ == 1) {
      store_->set_updater(
          [](const Key&, const NDArray& received, NDArray& stored) { stored += received; });
    }
    if (mode_ == 2) store_->set_optimizer(Sgd{.lr = 1});
  }

  void run(int steps) {
    add_key();
    for (int i = 0; i < steps; ++i) {
      switch (random_.below(6)) {
        case 0:
          if (model_.size() < 6) add_key();
          break;
        case 1:
          push_many();
          break;
        case 2:
          pull(any_key());
          break;
        case 3:
          pushpull(any_key());
          break;
        default:
          push(any_key());
      }
    }
    for (const auto& [key, value] : model_) pull(key);
  }

  /// Number of pulled arrays that differ from the serial program's.
  int mistakes() const {
    int count = 0;
    for (const Pulled& pulled : pulled_) count += pulled.out.to_vector<float>() != pulled.expected;
    return count;
  }

 private:
  struct Pulled {
    NDArray out;
    Floats expected;
  };

  Device any_device() {
    const int choice = random_.below(num_gpus() + 2);
    if (choice == num_gpus()) return Device::cpu();
    return choice > num_gpus() ? Device::cpu_pinned() : Device::gpu(choice);
  }
  int any_key() { return random_.below(static_cast<int>(model_.size())); }
  int any_priority() { return random_.below(5) - 2; }
  Shape shape_of(int key) const { return Shape{static_cast<std::int64_t>(model_.at(key).size())}; }

  void add_key() {
    const int key = static_cast<int>(model_.size());
    const std::int64_t size =
        random_.below(4) == 0 ? 70000 + random_.below(70000) : 1 + random_.below(300);
    const Floats value = support::whole_numbers(random_, size);
    store_->init(key, support::vector_of(value, any_device()));
    model_[key] = value;
  }

  /// Up to six arrays for `key`, and what they do to the serial program's value.
  std::vector<NDArray> arrays_for(int key, int at_most = 6) {
    std::vector<NDArray> arrays;
    Floats sum(model_[key].size(), 0);
    for (int i = random_.below(at_most); i >= 0; --i) {
      const Floats value = support::whole_numbers(random_, shape_of(key).size());
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += value[k];
      arrays.push_back(support::vector_of(value, any_device()));
    }
    Floats& stored = model_[key];
    for (std::size_t k = 0; k < sum.size(); ++k) {
      const float old = mode_ == 0 ? 0 : stored[k];
      stored[k] = mode_ == 2 ? old - sum[k] : old + sum[k];
    }
    return arrays;
  }

  void push(int key) { store_->push(key, arrays_for(key), any_priority()); }

  void push_many() {
    std::vector<Key> keys;
    std::vector<std::vector<NDArray>> groups;
    for (const auto& [key, value] : model_) {
      if (random_.below(2) == 0) keys.emplace_back(key);
    }
    if (keys.empty()) return;
    for (const Key& key : keys) groups.push_back(arrays_for(std::stoi(key.str())));
    if (random_.below(2) == 0) return store_->push(keys, groups, any_priority());

    // The same as one array per key, dealt in turns.
    std::vector<Key> flat_keys;
    std::vector<NDArray> flat;
    for (std::size_t turn = 0; turn < 6; ++turn) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (turn >= groups[i].size()) continue;
        flat_keys.push_back(keys[i]);
        flat.push_back(groups[i][turn]);
      }
    }
    store_->push(flat_keys, flat, any_priority());
  }

  void expect(int key, const std::vector<NDArray>& outs) {
    for (const NDArray& out : outs) pulled_.push_back({out, model_[key]});
  }

  void pull(int key) {
    std::vector<NDArray> outs;
    for (int i = random_.below(3); i >= 0; --i) {
      outs.emplace_back(shape_of(key), any_device());
    }
    store_->pull(key, outs, any_priority());
    expect(key, outs);
  }

  void pushpull(int key) {
    const std::vector<NDArray> values = arrays_for(key);
    store_->pushpull(key, values, values, any_priority());
    expect(key, values);
  }

  support::Random random_;
  const std::unique_ptr<KVStore> store_;
  const int mode_;  // 0: pushes replace, 1: an updater adds, 2: an optimizer subtracts
  std::map<int, Floats> model_;
  std::vector<Pulled> pulled_;
};

TEST_CASE("random programs on a store give what the serial ones give") {
  const std::string type = GENERATE(as<std::string>(), "local", "device");
  constexpr std::uint64_t kPrograms = support::kScale > 1 ? 6 : 30;
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    CAPTURE(type, seed);
    RandomProgram program(type, seed);
    program.run(40);
    CHECK(program.mistakes() == 0);
  }
}

TEST_CASE("fractions are summed in the order of the push, bit for bit") {
  const std::string type = GENERATE(as<std::string>(), "local", "device");
  const std::int64_t size = GENERATE(1, 1000, 100001);
  support::Random random(static_cast<std::uint64_t>(size));
  const auto store = KVStore::create(type);
  store->init(0, NDArray::zeros({size}));
  constexpr int kRounds = support::kScale > 1 ? 4 : 10;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(type, size, round);
    std::vector<NDArray> values;
    Floats expected(static_cast<std::size_t>(size));
    for (int i = 0; i <= round; ++i) {
      const Floats value = support::fractions(random, size);
      for (std::size_t k = 0; k < value.size(); ++k) {
        expected[k] = i == 0 ? value[k] : expected[k] + value[k];
      }
      values.push_back(support::vector_of(value, Device::gpu(random.below(num_gpus()))));
    }
    const NDArray out({size}, Device::gpu(1));
    store->push(0, values);
    store->pull(0, out);
    CHECK(out.to_vector<float>() == expected);
  }
}

}  // namespace
}  // namespace heddle
