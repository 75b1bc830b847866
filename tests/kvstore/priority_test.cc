#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/kvstore.h"
#include "heddle/trace.h"

#include "tests/kvstore/support.h"
#include "tests/support/gate.h"

namespace heddle {
namespace {

using support::HeldOperation;

/// Where in the order of their starts the operations called `name` ran that were pushed after
/// operation `first`: the place of each in the order of the pushes.
std::vector<std::size_t> order_of(std::string_view name, Lane lane, std::uint64_t first) {
  std::vector<OpRecord> records = Engine::get().trace();
  std::erase_if(records, [&](const OpRecord& record) {
    return record.name != name || record.lane != lane || record.sequence < first;
  });
  std::vector<std::uint64_t> pushed;
  for (const OpRecord& record : records) pushed.push_back(record.sequence);
  std::sort(pushed.begin(), pushed.end());
  std::sort(records.begin(), records.end(),
            [](const OpRecord& a, const OpRecord& b) { return a.started < b.started; });
  std::vector<std::size_t> order;
  for (const OpRecord& record : records) {
    const auto place = std::find(pushed.begin(), pushed.end(), record.sequence);
    order.push_back(static_cast<std::size_t>(place - pushed.begin()));
  }
  return order;
}

const std::vector<int> kPriorities = {0, 5, -3, 9};
const std::vector<std::size_t> kByPriority = {3, 1, 0, 2};

/// A store with a key for each priority, and nothing left to do.
std::unique_ptr<KVStore> store_with_keys(const char* type) {
  auto store = KVStore::create(type);
  for (int key = 0; key < 4; ++key) store->init(key, NDArray::zeros({8}));
  Engine::get().wait_for_all();
  return store;
}

TEST_CASE("the sums of urgent pushes run first") {
  if (!support::runs_beside_pusher(Engine::get())) return;
  const auto store = store_with_keys("local");
  const std::vector<NDArray> values = {NDArray::ones({8}), NDArray::ones({8})};
  Engine::get().wait_for_all();
  HeldOperation held(Engine::get(), {}, {});
  held.wait_until_started();
  for (int key = 0; key < 4; ++key) {
    store->push(key, values, kPriorities[static_cast<std::size_t>(key)]);
  }
  held.release();
  Engine::get().wait_for_all();
  CHECK(order_of("kvstore.sum", Lane::kCompute, held.sequence()) == kByPriority);
}

TEST_CASE("urgent values are pulled first") {
  if (!support::runs_beside_pusher(Engine::get())) return;
  const auto store = store_with_keys("device");
  std::vector<NDArray> outs;
  for (int key = 0; key < 4; ++key) outs.push_back(NDArray::zeros({8}, Device::gpu(2)));
  Engine::get().wait_for_all();
  // A comm lane holds two operations that it has issued; the rest waits in order of priority.
  const PushOptions lane = {.device = Device::gpu(2), .lane = Lane::kComm};
  HeldOperation held(Engine::get(), {}, {}, lane);
  HeldOperation next(Engine::get(), {}, {}, lane);
  held.wait_until_started();
  for (std::size_t key = 0; key < 4; ++key) store->pull(key, outs[key], kPriorities[key]);
  held.release();
  next.release();
  Engine::get().wait_for_all();
  CHECK(order_of("copy", Lane::kComm, held.sequence()) == kByPriority);
}

}  // namespace
}  // namespace heddle
