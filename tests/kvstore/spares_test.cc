#include "kvstore/spares.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/kvstore.h"
#include "heddle/ops.h"

#include "ndarray/array_access.h"
#include "tests/kvstore/support.h"

namespace heddle {
namespace {

// What is pulled after every push comes by an exchange of blocks. Nobody must notice.

using Floats = std::vector<float>;
using support::vector_of;

/// Big enough to be exchanged; the bigger one is divided among the devices, not evenly.
std::int64_t any_size() { return GENERATE(10000, 200001); }

/// A weight in a store, and the same one trained by a serial script.
class Training {
 public:
  explicit Training(std::int64_t size)
      : size_(size),
        random_(static_cast<std::uint64_t>(size)),
        weight_(vector_of(support::fractions(random_, size))),
        velocity_(NDArray::zeros({size})),
        store_(KVStore::create("device")) {
    store_->set_optimizer(Sgd{.lr = 0.1, .momentum = 0.9});
    store_->init("w", weight_);
  }

  KVStore& store() { return *store_; }
  NDArray array(int gpu) const { return NDArray::zeros({size_}, Device::gpu(gpu)); }
  void push() { step(new_gradients()); }
  /// From then on pulls of `out` after a push are exchanges.
  void push_and_pull_twice(const NDArray& out) {
    for (int round = 0; round < 2; ++round) {
      push();
      store_->pull("w", out);
    }
  }
  void step(const std::vector<NDArray>& gradients) {
    store_->push("w", gradients);
    expect_step(gradients);
  }
  std::vector<NDArray> new_gradients() {
    return {vector_of(support::fractions(random_, size_), Device::gpu(0)),
            vector_of(support::fractions(random_, size_), Device::gpu(1))};
  }
  /// The serial script's part of a push.
  void expect_step(const std::vector<NDArray>& gradients) {
    const NDArray sum = gradients[0].to(Device::cpu()) + gradients[1].to(Device::cpu());
    sgd_mom_update(weight_, sum, velocity_, 0.1, 0.9);
  }
  Floats expected() const { return weight_.to_vector<float>(); }

 private:
  std::int64_t size_;
  support::Random random_;
  NDArray weight_;
  NDArray velocity_;
  std::unique_ptr<KVStore> store_;
};

/// Where the elements lie.
const void* block_of(const NDArray& array) {
  const void* block = nullptr;
  Engine::get().push([&block, array] { block = ArrayAccess::const_address(array); }, {array.var()},
                     {}, {.device = array.device()});
  Engine::get().wait_for_var_unused(array.var());
  return block;
}

TEST_CASE("every GPU that pulls after each push gets the new value, bit for bit") {
  Training training(any_size());
  const std::vector<NDArray> outs = {training.array(0), training.array(1)};
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    training.push();
    training.store().pull("w", outs);
    CHECK(outs[0].to_vector<float>() == training.expected());
    CHECK(outs[1].to_vector<float>() == training.expected());
  }
}

TEST_CASE("from the second push on a pull exchanges the blocks of the array and the store") {
  Training training(any_size());
  const NDArray out = training.array(1);
  training.push();
  training.store().pull("w", out);
  const void* const first = block_of(out);
  training.push();
  training.store().pull("w", out);
  const void* const second = block_of(out);
  CHECK(second != first);
  training.push();
  training.store().pull("w", out);
  CHECK(block_of(out) == first);
}

TEST_CASE("a value that is pulled several times between two pushes is the same each time") {
  Training training(any_size());
  const NDArray first = training.array(0);
  const NDArray second = training.array(0);
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    training.push();
    training.store().pull("w", {first, second});
    training.store().pull("w", first);
    CHECK(first.to_vector<float>() == training.expected());
    CHECK(second.to_vector<float>() == training.expected());
  }
}

TEST_CASE("a value that is not pulled after each push is the newest when it is pulled") {
  Training training(any_size());
  const NDArray out = training.array(0);
  for (const int pushes : {1, 1, 2, 1, 3, 1}) {
    CAPTURE(pushes);
    for (int i = 0; i < pushes; ++i) training.push();
    training.store().pull("w", out);
    CHECK(out.to_vector<float>() == training.expected());
  }
}

TEST_CASE("views of an array see what is pulled into it") {
  Training training(10000);
  const NDArray out = training.array(1);
  const NDArray view = out.slice(5000, 10000);
  for (int round = 0; round < 3; ++round) {
    training.push();
    training.store().pull("w", out);
    const Floats expected = training.expected();
    CHECK(view.to_vector<float>() == Floats(expected.begin() + 5000, expected.end()));
  }
}

TEST_CASE("a part of a bigger array keeps its place when it is pulled into") {
  Training training(10000);
  const NDArray whole = NDArray::ones({20000}, Device::gpu(0));
  for (int round = 0; round < 3; ++round) {
    training.push();
    training.store().pull("w", whole.slice(10000, 20000));
    Floats expected(10000, 1);
    const Floats pulled = training.expected();
    expected.insert(expected.end(), pulled.begin(), pulled.end());
    CHECK(whole.to_vector<float>() == expected);
  }
}

TEST_CASE("what was pushed before a pull reads the value before it") {
  Training training(any_size());
  const NDArray out = training.array(0);
  std::vector<NDArray> seen;
  std::vector<Floats> expected;
  for (int round = 0; round < 5; ++round) {
    training.push();
    training.store().pull("w", out);
    seen.push_back(out + NDArray::zeros({1}, Device::gpu(0)));
    expected.push_back(training.expected());
  }
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i].to_vector<float>() == expected[i]);
}

TEST_CASE("a recorded step pulls in each run what the run has pushed") {
  Training training(any_size());
  const NDArray out = training.array(0);
  training.push();
  training.store().pull("w", out);
  const std::vector<NDArray> gradients = training.new_gradients();
  const Recording recording = Engine::get().record([&] {
    training.store().push("w", gradients);
    training.store().pull("w", out);
  });
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    recording.run();
    training.expect_step(gradients);
    CHECK(out.to_vector<float>() == training.expected());
    training.push();
    training.store().pull("w", out);
    CHECK(out.to_vector<float>() == training.expected());
  }
}

TEST_CASE("a recorded pull gives the newest value in each run") {
  Training training(any_size());
  const NDArray out = training.array(0);
  training.push();
  training.store().pull("w", out);
  const Recording recording = Engine::get().record([&] { training.store().pull("w", out); });
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    training.push();
    recording.run();
    recording.run();
    CHECK(out.to_vector<float>() == training.expected());
  }
}

TEST_CASE("what an updater makes of a value is pulled after the optimizer's pulls") {
  Training training(any_size());
  const NDArray out = training.array(0);
  training.push_and_pull_twice(out);
  training.push();  // and not pulled
  training.store().set_updater(
      [](const Key&, const NDArray&, NDArray& stored) { stored = NDArray::ones(stored.shape()); });
  training.store().push("w", training.new_gradients());
  training.store().pull("w", out);
  CHECK(out.to_vector<float>() == Floats(out.to_vector<float>().size(), 1));
}

TEST_CASE("a value that a recording initializes again is pulled as the run left it") {
  const Floats start(10000, 3);
  const NDArray initial = vector_of(start, Device::gpu(0));
  const NDArray gradient = NDArray::ones({10000}, Device::gpu(0));
  const NDArray out({10000}, Device::gpu(0));
  const auto store = KVStore::create("device");
  const Recording recording = Engine::get().record([&] { store->init("w", initial); });
  recording.run();
  store->set_optimizer(Sgd{.lr = 1});
  for (int round = 0; round < 2; ++round) {
    store->push("w", gradient);
    if (round == 0) store->pull("w", out);
  }
  recording.run();
  store->pull("w", out);
  CHECK(out.to_vector<float>() == start);
}

TEST_CASE("an array that an updater has left in the store is pulled as others have changed it") {
  const NDArray gradient = NDArray::ones({10000}, Device::gpu(0));
  const NDArray out({10000}, Device::gpu(0));
  NDArray kept;
  const auto store = KVStore::create("device");
  store->init("w", NDArray::ones({10000}, Device::gpu(0)));
  store->set_updater([&](const Key&, const NDArray& received, NDArray& stored) {
    stored = received;
    kept = stored;
  });
  store->push("w", gradient);
  store->set_optimizer(Sgd{.lr = 1});
  for (int round = 0; round < 2; ++round) {
    store->push("w", gradient);
    if (round == 0) store->pull("w", out);
  }
  kept.copy_from(NDArray::full({10000}, 7));
  store->pull("w", out);
  CHECK(out.to_vector<float>() == Floats(10000, 7));
}

TEST_CASE("a block is exchanged only after the update of every part was pushed") {
  kvstore::Spares spares;
  const std::vector<NDArray> parts = {NDArray::ones({10000}, Device::gpu(0))};
  const NDArray out = NDArray::zeros({10000}, Device::gpu(0));
  CHECK_FALSE(spares.pull(parts, out, 0));
  CHECK(spares.blocks().size() == 1);
  CHECK_FALSE(spares.pull(parts, out, 0));
  spares.filled();
  CHECK(spares.pull(parts, out, 0));
  CHECK_FALSE(spares.pull(parts, out, 0));
  Engine::get().wait_for_all();
}

TEST_CASE("spare blocks come and go while their updates are pending") {
  Training training(any_size());
  const NDArray out = training.array(0);
  for (int round = 0; round < 40; ++round) {
    training.push();
    if (round % 3 == 0) training.store().pull("w", out);
    const NDArray other = NDArray::ones(out.shape(), Device::gpu(0)) * 2.0;
    if (round % 4 == 0) CHECK(other.to_vector<float>().back() == 2);
  }
  training.store().pull("w", out);
  CHECK(out.to_vector<float>() == training.expected());
}

TEST_CASE("the error of a gradient reaches what is pulled by an exchange") {
  Training training(any_size());
  const NDArray out = training.array(0);
  training.push_and_pull_twice(out);
  const std::vector<NDArray> gradients = training.new_gradients();
  Engine::get().push([] { throw std::runtime_error("no gradient"); }, {}, {gradients[1].var()});
  training.store().push("w", gradients);
  training.store().pull("w", out);
  CHECK_THROWS_AS(out.to_vector<float>(), OpError);
}

}  // namespace
}  // namespace heddle
