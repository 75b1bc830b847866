#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/memory.h"
#include "heddle/ndarray.h"
#include "heddle/ops.h"

#include "tests/support/gate.h"

namespace heddle {
namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 20U;
constexpr std::size_t kBytes = 4 * static_cast<std::size_t>(kElements);

std::vector<Device> all_devices() {
  std::vector<Device> devices = {Device::cpu()};
  for (int i = 0; i < num_gpus(); ++i) devices.push_back(Device::gpu(i));
  return devices;
}

TEST_CASE("an array's memory is live from its first use until its last operation has ended") {
  for (const Device device : all_devices()) {
    Engine::get().wait_for_all();
    const std::size_t before = memory_statistics(device).live_bytes;
    NDArray array({kElements}, device);
    CHECK(memory_statistics(device).live_bytes == before);
    array += 1;
    array.wait_to_read();
    CHECK(memory_statistics(device).live_bytes >= before + kBytes);
    array = NDArray();
    Engine::get().wait_for_all();
    CHECK(memory_statistics(device).live_bytes == before);
  }
}

TEST_CASE("memory of an array without a handle is pending while its operations last") {
  for (const Device device : all_devices()) {
    Engine& engine = Engine::get();
    engine.wait_for_all();
    const std::size_t before = memory_statistics(device).pending_bytes;
    NDArray array = NDArray::ones({kElements}, device);
    array.wait_to_read();
    support::HeldOperation held(engine, {array.var()}, {});
    array = NDArray();
    CHECK(memory_statistics(device).pending_bytes == before + kBytes);
    held.release();
    engine.wait_for_all();
    CHECK(memory_statistics(device).pending_bytes == before);
  }
}

TEST_CASE("trimmed memory is not cached any more") {
  for (const Device device : all_devices()) {
    NDArray::ones({4 * kElements}, device).wait_to_read();
    Engine::get().wait_for_all();
    CHECK(memory_statistics(device).cached_bytes >= 4 * kBytes);
    trim_memory(device);
    const MemoryStatistics after = memory_statistics(device);
    CHECK(after.cached_bytes == after.fragmented_bytes);
  }
}

}  // namespace
}  // namespace heddle
