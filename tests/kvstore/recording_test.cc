#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/kvstore.h"
#include "heddle/ops.h"

#include "tests/kvstore/support.h"

// Recorded steps of training: what a store sets up for itself on the way is no part of them.

namespace heddle {
namespace {

using Floats = std::vector<float>;

/// A value on the CPU and gradients of ones on two GPUs.
class Training {
 public:
  explicit Training(const std::string& type) : store_(KVStore::create(type)) {
    store_->init("w", NDArray::full({1000}, 5, Device::cpu()));
    for (int i = 0; i < 2; ++i) gradients_.push_back(NDArray::ones({1000}, Device::gpu(i)));
  }

  KVStore& store() { return *store_; }
  void step() {
    store_->push("w", gradients_);
    store_->pull("w", out_);
  }
  void pull() { store_->pull("w", out_); }
  Floats value() {
    pull();
    return out_.to_vector<float>();
  }

 private:
  std::unique_ptr<KVStore> store_;
  std::vector<NDArray> gradients_;
  NDArray out_{{1000}, Device::gpu(0)};
};

TEST_CASE("a step that was recorded first goes on from run to run as one that is pushed") {
  const std::string type = GENERATE(as<std::string>(), "local", "device");
  const Optimizer optimizer =
      GENERATE(as<Optimizer>(), Sgd{.lr = 1, .momentum = 0.5}, Adam{.lr = 1});
  Training pushed(type);
  Training recorded(type);
  for (Training* training : {&pushed, &recorded}) training->store().set_optimizer(optimizer);
  const Recording recording = Engine::get().record([&] { recorded.step(); });
  for (int run = 0; run < 4; ++run) {
    pushed.step();
    recording.run();
    CHECK(recorded.value() == pushed.value());
  }
}

TEST_CASE("a value in parts that an updater wants whole is put together once") {
  Training training("device");
  training.store().set_optimizer(Sgd{.lr = 1});
  training.step();
  training.store().set_updater(
      [](const Key&, const NDArray& received, NDArray& stored) { stored -= received; });
  const Recording recording = Engine::get().record([&] { training.step(); });
  recording.run();
  recording.run();
  CHECK(training.value() == Floats(1000, 5 - 3 * 2));
}

TEST_CASE("a recording that never runs leaves the values of a store alone") {
  const std::string type = GENERATE(as<std::string>(), "local", "device");
  Training training(type);
  training.store().set_optimizer(Sgd{.lr = 1});
  const Recording recording = Engine::get().record([&] { training.step(); });
  CHECK(training.value() == Floats(1000, 5));
}

TEST_CASE("a push that would move a value from where a recording uses it is refused") {
  Training training("device");
  training.store().set_optimizer(Sgd{.lr = 1});
  const Recording recording = Engine::get().record([&] { training.pull(); });
  CHECK_THROWS_WITH(training.step(),
                    Catch::Contains("key w") && Catch::Contains("push it once before recording"));
  CHECK(training.value() == Floats(1000, 5));
}

}  // namespace
}  // namespace heddle
