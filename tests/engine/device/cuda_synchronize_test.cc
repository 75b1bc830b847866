#include "engine/device/cuda_synchronize.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/cuda.h"
#include "heddle/engine.h"

#include "engine/device/backend.h"
#include "tests/support/fake_cuda_runtime.h"

namespace heddle::device {
namespace {

constexpr int kOperations = 10000;
constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm};

TEST_CASE("a graph of ten thousand operations on GPUs makes no thread wait for one") {
  std::atomic<int> ended{0};
  const std::uint64_t counted = cuda_blocking_synchronizations();
  const std::uint64_t witnessed = support::fake_cuda_synchronizations();
  {
    Engine engine;
    std::vector<Var> vars;
    for (int i = 0; i < 32; ++i) vars.push_back(engine.new_variable());
    std::mt19937 random(1);
    for (int i = 0; i < kOperations; ++i) {
      const std::size_t from = random() % vars.size();
      const std::size_t to = (from + 1 + random() % (vars.size() - 1)) % vars.size();
      engine.push(
          [&ended](const RunContext& context) {
            support::enqueue_on_fake_cuda(cuda_stream(context), [&ended] { ++ended; });
          },
          {vars[from]}, {vars[to]},
          {.device = Device::gpu(i % 2), .lane = kLanes[random() % kLanes.size()]});
    }
    engine.wait_for_all();
    CHECK(ended == kOperations);
  }
  CHECK(cuda_blocking_synchronizations() - counted == 0);
  CHECK(support::fake_cuda_synchronizations() - witnessed == 0);
}

TEST_CASE("on an engine without streams each step waits once") {
  const std::uint64_t counted = cuda_blocking_synchronizations();
  const std::uint64_t witnessed = support::fake_cuda_synchronizations();
  EngineOptions options;
  options.kind = EngineKind::kNaive;
  Engine engine(options);
  Backend& gpu = backend_of(Device::gpu(0));
  void* const from = gpu.allocate(64);
  void* const to = gpu.allocate(64);
  const Var x = engine.new_variable();
  const auto copy = [&] { gpu.copy(to, Device::gpu(0), from, Device::gpu(0), 64); };
  for (int i = 0; i < 10; ++i) engine.push(copy, {}, {x}, {.device = Device::gpu(0)});
  engine.wait_for_var(x);
  CHECK(cuda_blocking_synchronizations() - counted == 10);
  CHECK(support::fake_cuda_synchronizations() - witnessed == 10);
  gpu.deallocate(from, 64);
  gpu.deallocate(to, 64);
}

}  // namespace
}  // namespace heddle::device
