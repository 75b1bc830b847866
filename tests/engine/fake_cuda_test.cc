#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/ndarray.h"

#include "tests/support/fake_cuda_runtime.h"

// Faults that a real GPU does not show at will. Each case ends its program's GPUs, and ctest runs
// each in a process of its own: so a run of everything leaves them out.

namespace heddle {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("without memory an operation fails and those after it run", "[.]") {
  support::limit_fake_cuda_memory(std::size_t{64} << 20U);
  const std::vector<std::uint8_t> much(std::size_t{48} << 20U, 7);
  const std::vector<std::uint8_t> little(1000, 8);
  const NDArray first = NDArray::from(much, Shape{much.size()}, Device::gpu(0));
  const NDArray second = NDArray::from(much, Shape{much.size()}, Device::gpu(1));
  const NDArray third = NDArray::from(little, Shape{little.size()}, Device::gpu(0));
  CHECK_THROWS_WITH(second.wait_to_read(), Contains("out of memory") && Contains("cuda:0"));
  CHECK(third.to_vector<std::uint8_t>() == little);
}

TEST_CASE("a GPU that fails is lost and everything on it fails by name", "[.]") {
  const std::vector<float> values(1000, 1.5F);
  const NDArray x = NDArray::from(values, {1000}, Device::gpu(0));
  CHECK(x.to_vector<float>() == values);
  support::break_fake_cuda();
  const NDArray y = x.copy();
  const NDArray z = y.to(Device::cpu());
  CHECK_THROWS_WITH(z.wait_to_read(), Contains("illegal memory access") && Contains("cuda:0"));
  const NDArray later = x.copy();
  CHECK_THROWS_AS(later.wait_to_read(), OpError);
  CHECK_THROWS_WITH(later.wait_to_read(), Contains("lost"));
}

TEST_CASE("operations in flight when a GPU fails are ended", "[.]") {
  Engine engine;
  const Var x = engine.new_variable();
  for (int i = 0; i < 100; ++i) {
    if (i == 50) {
      engine.push([] { support::break_fake_cuda(); }, {}, {x}, {.device = Device::gpu(0)});
    }
    engine.push([] {}, {}, {x}, {.device = Device::gpu(i % 2)});
  }
  CHECK_THROWS_AS(engine.wait_for_var(x), OpError);
}

TEST_CASE("operations that are captured when a GPU fails are ended", "[.]") {
  Engine engine;
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  bool breaks = false;
  const Recording recording = engine.record([&] {
    for (int i = 0; i < 20; ++i) {
      engine.push(
          [&breaks, i] {
            if (!breaks || i != 10) return;
            support::break_fake_cuda();
            // Until somebody has found out.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          },
          {}, {x}, {.device = Device::gpu(0), .capturable = true});
    }
  });
  recording.run();
  engine.wait_for_var(x);
  breaks = true;
  for (int i = 0; i < 5; ++i) {
    engine.push([] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }, {}, {y},
                {.device = Device::gpu(0), .lane = Lane::kCopyIn});
  }
  recording.run();
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("cuda:0"));
}

}  // namespace
}  // namespace heddle
