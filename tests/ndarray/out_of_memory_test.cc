// On GPUs of 8 MiB each.

#include <chrono>
#include <cstdint>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

using heddle::Device;
using heddle::Engine;
using heddle::NDArray;
using heddle::Shape;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20U;

Shape floats(std::int64_t bytes) { return Shape{bytes / static_cast<std::int64_t>(sizeof(float))}; }

bool is_all(const NDArray& array, float value) {
  const std::vector<float> values = array.to_vector<float>();
  return values == std::vector<float>(values.size(), value);
}

std::string error_of(const NDArray& array) {
  try {
    array.wait_to_read();
  } catch (const heddle::OpError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("copies to a GPU and back run one after the other where there is memory for one only") {
  const NDArray host = NDArray::full(floats(6 * kMiB), 1.5F, Device::cpu());
  NDArray back;
  for (int i = 0; i < 100; ++i) back = host.to(Device::gpu(0)).to(Device::cpu());
  CHECK(is_all(back, 1.5F));
}

TEST_CASE("what a loop gives up while it runs ahead is memory for what comes later") {
  NDArray sum = NDArray::zeros(floats(2 * kMiB), Device::gpu(0));
  for (int i = 1; i <= 20; ++i) {
    const NDArray term = NDArray::full(floats(2 * kMiB), static_cast<float>(i), Device::gpu(0));
    sum += term * 2.0F;
  }
  CHECK(is_all(sum, 420.0F));
}

TEST_CASE("an operation that lacks memory waits for a long one that was pushed before it") {
  std::binary_semaphore gate(0);
  NDArray held = NDArray::zeros(floats(6 * kMiB), Device::gpu(0));
  held.wait_to_read();
  // Holds the array until the gate opens.
  Engine::get().push([&gate, held] { gate.acquire(); }, {held.var()}, {},
                     {.lane = heddle::Lane::kBlocking});
  held = NDArray();
  // Where the callable of an operation runs as it is issued, the call that pushes it may wait.
  const std::jthread opener([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    gate.release();
  });
  const NDArray next = NDArray::full(floats(6 * kMiB), 2.0F, Device::gpu(0));
  CHECK(is_all(next, 2.0F));
}

TEST_CASE("while an operation lacks memory others use its GPU") {
  std::binary_semaphore gate(0);
  NDArray held = NDArray::zeros(floats(6 * kMiB), Device::gpu(0));
  const NDArray small = NDArray::full(floats(4096), 3.0F, Device::gpu(0));
  for (const NDArray& array : {held, small}) array.wait_to_read();
  Engine::get().push([&gate, held] { gate.acquire(); }, {held.var()}, {},
                     {.lane = heddle::Lane::kBlocking});
  held = NDArray();
  bool is_copied = false;
  const std::jthread opener([&gate, &small, &is_copied] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // by then `next` lacks memory
    is_copied = is_all(small, 3.0F);
    gate.release();
  });
  const NDArray next = NDArray::full(floats(6 * kMiB), 2.0F, Device::gpu(0));
  CHECK(is_all(next, 2.0F));
  CHECK(is_copied);
}

TEST_CASE("an operation gets the memory of what is given back when it becomes ready, too") {
  const bool writes_next = GENERATE(true, false);  // then that comes to its turn first, or last
  std::binary_semaphore gate(0);
  NDArray held = NDArray::zeros(floats(6 * kMiB), Device::gpu(0));
  held.wait_to_read();
  const NDArray next(floats(6 * kMiB), Device::gpu(0));
  const heddle::Var& written = writes_next ? next.var() : held.var();
  const heddle::Var& read = writes_next ? held.var() : next.var();
  Engine::get().push([&gate] { gate.acquire(); }, {read}, {written},
                     {.lane = heddle::Lane::kBlocking});
  held = NDArray();
  next.copy_from(NDArray::full(floats(6 * kMiB), 2.0F, Device::cpu()));
  gate.release();
  CHECK(is_all(next, 2.0F));
}

TEST_CASE("an operation gets the memory of what an earlier one uses that becomes ready with it") {
  std::binary_semaphore gate(0);
  NDArray held = NDArray::full(floats(6 * kMiB), 1.0F, Device::gpu(0));
  const NDArray out = NDArray::zeros(floats(6 * kMiB), Device::cpu());
  const NDArray in = NDArray::full(floats(6 * kMiB), 2.0F, Device::cpu());
  for (const NDArray& array : {held, out, in}) array.wait_to_read();
  // What it writes is released before what it reads.
  Engine::get().push([&gate] { gate.acquire(); }, {out.var()}, {in.var()},
                     {.lane = heddle::Lane::kBlocking});
  out.copy_from(held);
  held = NDArray();
  const NDArray next(floats(6 * kMiB), Device::gpu(0));
  next.copy_from(in);
  gate.release();
  CHECK(is_all(out, 1.0F));
  CHECK(is_all(next, 2.0F));
}

TEST_CASE("an operation fails if the arrays that there are leave no memory for it") {
  const NDArray held = NDArray::full(floats(6 * kMiB), 1.0F, Device::gpu(0));
  const NDArray next = NDArray::zeros(floats(6 * kMiB), Device::gpu(0));
  CHECK_THAT(error_of(next), Catch::Contains("[gpu(0)] out of memory: 6.0 MiB requested"));
  CHECK(is_all(held, 1.0F));
}

TEST_CASE("an array that is larger than its GPU fails, and the GPU goes on") {
  const NDArray large = NDArray::zeros(floats(9 * kMiB), Device::gpu(0));
  CHECK_THAT(error_of(large), Catch::Contains("[gpu(0)] out of memory: 9.0 MiB requested"));
  CHECK(is_all(NDArray::full(floats(6 * kMiB), 3.0F, Device::gpu(0)), 3.0F));
}

TEST_CASE("an operation fails if only one that waits for it would give back memory") {
  const NDArray first = NDArray::full(floats(6 * kMiB), 1.0F, Device::gpu(0));
  first.wait_to_read();
  const heddle::Var order = Engine::get().new_variable();
  const NDArray second = NDArray::zeros(floats(6 * kMiB), Device::gpu(0));
  Engine::get().push([second, first] {}, {first.var(), second.var()}, {order});
  CHECK_THAT(error_of(second), Catch::Contains("out of memory"));
  CHECK_THROWS_AS(Engine::get().wait_for_var(order), heddle::OpError);
}
