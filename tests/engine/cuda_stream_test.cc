#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/cuda.h"
#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/ndarray.h"

#include "tests/support/engines.h"

// What an operation of a CUDA device can rely on. This program has at least two logical GPUs.

namespace heddle {
namespace {

using Catch::Matchers::Contains;
using support::every_engine;

constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm};

TEST_CASE("a chain over all devices and lanes runs in order on CUDA") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::vector<int> order;
  int pushed = 0;
  for (int round = 0; round < 50; ++round) {
    for (const Device device : {Device::gpu(0), Device::cpu(), Device::gpu(1)}) {
      for (const Lane lane : kLanes) {
        engine.push([&order, i = pushed] { order.push_back(i); }, {}, {x},
                    {.device = device, .lane = lane});
        ++pushed;
      }
    }
  }
  engine.wait_for_var(x);
  CHECK(order.size() == 600);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("operations of one lane share a stream, and lanes and devices have their own") {
  Engine engine;
  std::vector<CUstream_st*> streams;
  const Var x = engine.new_variable();
  for (int round = 0; round < 2; ++round) {
    for (const Device device : {Device::gpu(0), Device::gpu(1)}) {
      for (const Lane lane : kLanes) {
        engine.push([&streams](RunContext& context) { streams.push_back(cuda_stream(context)); },
                    {}, {x}, {.device = device, .lane = lane});
      }
    }
  }
  engine.wait_for_var(x);
  REQUIRE(streams.size() == 16);
  CHECK(std::equal(streams.begin(), streams.begin() + 8, streams.begin() + 8));
  std::sort(streams.begin(), streams.end());
  CHECK(std::unique(streams.begin(), streams.end()) - streams.begin() == 8);
}

TEST_CASE("an operation of the CPU has no stream of CUDA") {
  Engine engine;
  const Var x = engine.new_variable();
  engine.push([](RunContext& context) { cuda_stream(context); }, {}, {x});
  CHECK_THROWS_WITH(engine.wait_for_var(x), Contains("[cuda_stream]") && Contains("cpu(0)"));
}

TEST_CASE("what an operation of a CUDA device throws reaches those that were issued behind it") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  const std::uint64_t root = engine.push([] { throw std::runtime_error("on purpose"); }, {}, {x},
                                         {.device = Device::gpu(0)});
  engine.push([] {}, {x}, {y}, {.device = Device::gpu(1)});
  engine.push([] {}, {}, {y}, {.device = Device::gpu(0), .lane = Lane::kComm});
  try {
    engine.wait_for_var(y);
    FAIL("no error");
  } catch (const OpError& error) {
    CHECK(error.sequence() == root);
    CHECK(error.device() == Device::gpu(0));
  }
}

TEST_CASE("asynchronous operations of a CUDA device end with their completion") {
  HEDDLE_FOR_EACH(options, every_engine);
  Engine engine(options);
  const Var x = engine.new_variable();
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    engine.push_async([](RunContext&, Completion completion) { completion.done(); }, {}, {x},
                      {.device = Device::gpu(i % 2)});
    engine.push([&ended] { ++ended; }, {x}, {});
    engine.wait_for_var_unused(x);
    REQUIRE(ended == i + 1);
  }
}

TEST_CASE("engines on a CUDA device come and go, and run what was pushed to them") {
  constexpr int kEngines = 30;
  int ran = 0;
  for (int i = 0; i < kEngines; ++i) {
    Engine engine;
    const Var x = engine.new_variable();
    for (const Lane lane : kLanes) {
      engine.push([&ran] { ++ran; }, {}, {x}, {.device = Device::gpu(i % 2), .lane = lane});
    }
  }
  CHECK(ran == kEngines * static_cast<int>(kLanes.size()));
}

TEST_CASE("a device's array cannot be touched outside of operations") {
  const NDArray x({4}, Device::gpu(0));
  CHECK_THROWS_WITH(x.data<float>(), Contains("gpu(0)"));
}

}  // namespace
}  // namespace heddle
