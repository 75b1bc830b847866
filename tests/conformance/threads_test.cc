#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

#include "tests/conformance/target.h"
#include "tests/support/engines.h"

// Devices that several threads use.

namespace heddle::conformance {
namespace {

using support::parallel_engines;

constexpr std::size_t kThreads = 4;

/// Calls `body` with the numbers below kThreads, on a thread each, and waits for them.
void on_threads(const std::function<void(std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("threads that push to all devices lose no update of what they share") {
  HEDDLE_FOR_EACH(options, parallel_engines);
  Engine engine(options);
  const Var x = engine.new_variable();
  std::size_t value = 0;
  on_threads([&](std::size_t thread) {
    for (std::size_t i = 0; i < 100; ++i) {
      engine.push(
          [&value](const RunContext& context) { in_stream(context, [&value] { ++value; }); }, {},
          {x}, {.device = device(i + thread), .lane = stream_lanes()[i % 4]});
    }
  });
  engine.wait_for_var(x);
  CHECK(value == 100 * kThreads);
}

TEST_CASE("threads compute with arrays of their own on the same devices") {
  std::vector<std::vector<std::int64_t>> results(kThreads);
  on_threads([&](std::size_t thread) {
    NDArray x =
        NDArray::full({1000}, static_cast<std::int64_t>(thread), device(thread), DType::kInt64);
    for (std::size_t step = 0; step < 50; ++step) x = x.to(device(thread + step)) * 3 + 1;
    results[thread] = x.to_vector<std::int64_t>();
  });
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    std::uint64_t expected = thread;
    for (int step = 0; step < 50; ++step) expected = expected * 3 + 1;
    CHECK(results[thread] == std::vector<std::int64_t>(1000, static_cast<std::int64_t>(expected)));
  }
}

TEST_CASE("threads add to one array from all devices") {
  for (const Device owner : devices()) {
    const NDArray sum = NDArray::zeros({500}, owner, DType::kInt64);
    on_threads([&](std::size_t thread) {
      NDArray mine = sum;  // the same elements
      for (std::size_t i = 0; i < 20; ++i) {
        mine += NDArray::ones({500}, device(thread + i), DType::kInt64).to(owner);
      }
    });
    CHECK(sum.to_vector<std::int64_t>() ==
          std::vector<std::int64_t>(500, static_cast<std::int64_t>(20 * kThreads)));
  }
}

TEST_CASE("each thread has a device of its own on which its arrays are made") {
  std::vector<Device> made(kThreads);
  on_threads([&](std::size_t thread) {
    set_current_device(device(thread));
    made[thread] = NDArray::zeros({4}).device();
  });
  for (std::size_t thread = 0; thread < kThreads; ++thread) CHECK(made[thread] == device(thread));
}

}  // namespace
}  // namespace heddle::conformance
