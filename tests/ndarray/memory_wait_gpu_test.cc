// How operations of GPUs of 8 MiB that lack memory wait, where whoever issues them would have to
// find out what the GPU has done.

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/cuda.h"
#include "heddle/heddle.h"

#include "tests/support/fake_cuda_runtime.h"
#include "tests/support/gate.h"

namespace heddle {
namespace {

using support::enqueue_on_fake_cuda;
using support::Gate;

constexpr std::int64_t kFloats = std::int64_t{6} * (std::int64_t{1} << 20U) / 4;

/// Pushes an operation to the GPU that ends there when the gate opens.
std::shared_ptr<Gate> push_held(const Var& written, Lane lane) {
  auto gate = std::make_shared<Gate>();
  Engine::get().push(
      [gate](const RunContext& context) {
        enqueue_on_fake_cuda(cuda_stream(context), [gate] { gate->wait(); });
      },
      {}, {written}, {.device = Device::gpu(0), .lane = lane});
  return gate;
}

TEST_CASE("what a GPU has done is found while who looks for it lacks memory to issue more",
          "[unfinished]") {
  Engine& engine = Engine::get();
  NDArray first = NDArray::full(Shape{kFloats}, 1.0F, Device::gpu(0));
  const NDArray second(Shape{kFloats}, Device::gpu(0));
  first.wait_to_read();
  const Var x = engine.new_variable();
  // Copies wait on the host: the thread that finds out that one may begin issues it.
  const std::shared_ptr<Gate> before_reading = push_held(x, Lane::kCompute);
  engine.push([first] { static_cast<void>(first.data<float>()); }, {x, first.var()}, {},
              {.device = Device::gpu(0), .lane = Lane::kCopyOut});
  first = NDArray();
  const std::shared_ptr<Gate> before_writing = push_held(second.var(), Lane::kComm);
  Gate issues;
  engine.push(
      [&issues, second] {
        issues.open();
        static_cast<void>(second.data<float>());
      },
      {}, {second.var()}, {.device = Device::gpu(0), .lane = Lane::kCopyIn});
  before_writing->open();
  issues.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // by then it lacks memory
  before_reading->open();
  CHECK_NOTHROW(second.wait_to_read());
}

TEST_CASE("an operation of a GPU waits for memory as long as that is at what was pushed before",
          "[unfinished]") {
  NDArray first = NDArray::full(Shape{kFloats}, 1.0F, Device::gpu(0));
  first.wait_to_read();
  const std::shared_ptr<Gate> before_ending = push_held(first.var(), Lane::kCompute);
  first = NDArray();
  // Where the callable of an operation runs as it is issued, the call that pushes it may wait.
  const std::jthread opener([before_ending] {
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    before_ending->open();
  });
  const NDArray second = NDArray::full(Shape{kFloats}, 2.0F, Device::gpu(0));
  CHECK_NOTHROW(second.wait_to_read());
}

TEST_CASE("who waits for memory to issue an operation keeps none from being issued elsewhere") {
  Engine& engine = Engine::get();
  NDArray first = NDArray::full(Shape{kFloats}, 1.0F, Device::gpu(1));
  const NDArray second(Shape{kFloats}, Device::gpu(1));
  first.wait_to_read();
  const Var x = engine.new_variable();
  const Var y = engine.new_variable();
  Gate before_reading;
  Gate before_issuing;
  Gate issues;
  engine.push([&] { before_reading.wait(); }, {}, {x}, {.lane = Lane::kBlocking});
  engine.push([&] { before_issuing.wait(); }, {}, {y});
  engine.push([first] {}, {x, first.var()}, {}, {.device = Device::gpu(0)});
  first = NDArray();
  // Issued by the thread that opens the way for it, and what follows on the other GPU, too.
  engine.push([] {}, {}, {y}, {.device = Device::gpu(0)});
  engine.push(
      [&issues, second] {
        issues.open();
        static_cast<void>(second.data<float>());
      },
      {y}, {second.var()}, {.device = Device::gpu(1)});
  before_issuing.open();
  issues.wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // by then it lacks memory
  before_reading.open();
  CHECK_NOTHROW(second.wait_to_read());
}

TEST_CASE("an operation does not wait for the memory of what it pushes to a GPU") {
  Engine& engine = Engine::get();
  NDArray first = NDArray::full(Shape{kFloats}, 1.0F, Device::gpu(0));
  const NDArray second(Shape{kFloats}, Device::gpu(0));
  first.wait_to_read();
  const Var x = engine.new_variable();
  Gate may_push;
  engine.push(
      [&engine, &may_push, second] {
        may_push.wait();
        engine.push([second] { static_cast<void>(second.data<float>()); }, {}, {second.var()},
                    {.device = Device::gpu(0)});
      },
      {}, {x});
  engine.push([first] {}, {x, first.var()}, {}, {.device = Device::gpu(0), .lane = Lane::kCopyOut});
  first = NDArray();
  may_push.open();
  engine.wait_for_var(x);
  CHECK_NOTHROW(second.wait_to_read());
}

TEST_CASE("copies that wait for memory on every lane of a GPU get it in turn") {
  const NDArray host = NDArray::full(Shape{kFloats}, 1.5F, Device::cpu());
  std::vector<NDArray> back;
  for (int i = 0; i < 30; ++i) {
    NDArray there = host.to(Device::gpu(0));
    there *= 2.0F;
    back.push_back(there.to(Device::cpu()));
  }
  for (const NDArray& array : back) {
    const std::vector<float> values = array.to_vector<float>();
    CHECK(values.front() == 3.0F);
    CHECK(values.back() == 3.0F);
  }
}

}  // namespace
}  // namespace heddle
