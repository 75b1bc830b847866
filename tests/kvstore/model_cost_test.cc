#include <cstdint>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

// What a store tells the model clock. It traces the default engine, of which there is one per
// process.

namespace heddle {
namespace {

constexpr std::int64_t kSize = 128 * 1024;

/// Two GPUs of 10 GB/s, with 1 GB/s between them, to and from which copies take 10 us more.
void use_two_gpus() {
  static const bool done = [] {
    configure({.gpus = "sim:2?peer=1GB/s&latency=10us&hbm=10GB/s", .engine = {.trace = true}});
    return true;
  }();
  static_cast<void>(done);
}

/// Of the last operation called `name`, in nanoseconds on the model clock.
std::int64_t cost_of(std::string_view name) {
  Engine::get().wait_for_all();
  std::uint64_t last = 0;
  std::int64_t cost = -1;
  for (const OpRecord& record : Engine::get().trace()) {
    if (record.name != name || record.sequence < last) continue;
    last = record.sequence;
    cost = record.modelled_end - record.modelled_start;
  }
  return cost;
}

/// Pushes a gradient of each GPU to a value of half a megabyte, which they divide, and pulls it.
void push_and_pull(const Optimizer& optimizer) {
  const auto store = KVStore::create("device");
  store->set_optimizer(optimizer);
  store->init(1, NDArray::ones({kSize}, Device::gpu(0)));
  store->push(1, {NDArray::ones({kSize}, Device::gpu(0)), NDArray::ones({kSize}, Device::gpu(1))});
  store->pull(1, NDArray({kSize}, Device::gpu(1)));
}

TEST_CASE("an update costs one pass over the gradients, the weight and the state") {
  use_two_gpus();
  push_and_pull(Sgd{.lr = 1});
  CHECK(cost_of("kvstore.update") == 104858);  // 256 KiB: two gradients, the weight to and fro
  push_and_pull(Sgd{.lr = 1, .momentum = 0.5});
  CHECK(cost_of("kvstore.update") == 157286);
  push_and_pull(Adam{});
  CHECK(cost_of("kvstore.update") == 209715);
}

TEST_CASE("a pull copies only the parts of other GPUs over links") {
  use_two_gpus();
  push_and_pull(Sgd{.lr = 1});
  CHECK(cost_of("kvstore.join") == 52429 + 10000 + 262144);
}

}  // namespace
}  // namespace heddle
