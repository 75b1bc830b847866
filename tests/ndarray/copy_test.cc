#include "ndarray/copy.h"

#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::device_pairs;
using support::devices;
using support::failed_operation;
using support::refusal;

NDArray counted(std::int64_t size, Device device) { return NDArray::arange(0, size, 1, device); }

TEST_CASE("elements arrive between any two devices") {
  for (const auto& [from, to] : device_pairs()) {
    CAPTURE(from, to);
    const NDArray source = counted(6, from);
    const NDArray arrived = source.to(to);
    CHECK(arrived.device() == to);
    CHECK(arrived.to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
  }
}

TEST_CASE("parts of arrays are copied between any two devices") {
  for (const auto& [from, to] : device_pairs()) {
    CAPTURE(from, to);
    const NDArray target = NDArray::zeros({5}, to);
    target.slice(1, 4).copy_from(counted(6, from).slice(3, 6));
    CHECK(target.to_vector<float>() == std::vector<float>{0, 3, 4, 5, 0});
  }
}

TEST_CASE("copies take the lane of their direction") {
  using detail::copy_route;
  const Device host = Device::cpu();
  const Device first = Device::gpu(0);
  const Device second = Device::gpu(1);
  CHECK(copy_route(host, first).lane == Lane::kCopyIn);
  CHECK(copy_route(host, first).device == first);
  CHECK(copy_route(first, host).lane == Lane::kCopyOut);
  CHECK(copy_route(first, host).device == first);
  CHECK(copy_route(first, second).lane == Lane::kCopyIn);
  CHECK(copy_route(first, second).device == second);
  CHECK(copy_route(first, first).lane == Lane::kCompute);
  CHECK(copy_route(first, first).device == first);
  CHECK(copy_route(Device::cpu_pinned(), host).lane == Lane::kCompute);
  CHECK(copy_route(Device::cpu_pinned(), host).device == host);
}

TEST_CASE("a copy may run in a lane of the caller's choice") {
  const NDArray target = NDArray::zeros({3}, Device::gpu(1));
  detail::copy(counted(3, Device::gpu(0)), target, /*priority=*/5, Lane::kComm);
  CHECK(target.to_vector<float>() == std::vector<float>{0, 1, 2});
}

TEST_CASE("to() returns the array itself if it is there already") {
  for (const Device device : devices()) {
    const NDArray array = counted(2, device);
    CHECK(array.to(device).var() == array.var());
  }
}

TEST_CASE("a copy is apart from its source") {
  for (const Device device : devices()) {
    const NDArray source = counted(3, device);
    const NDArray before = source.copy();
    source.copy_from(NDArray::zeros({3}, device));
    CHECK(before.to_vector<float>() == std::vector<float>{0, 1, 2});
    CHECK(before.var() != source.var());
  }
}

TEST_CASE("copying between overlapping views reads everything first") {
  for (const Device device : devices()) {
    const NDArray up = counted(6, device);
    up.slice(1, 6).copy_from(up.slice(0, 5));
    CHECK(up.to_vector<float>() == std::vector<float>{0, 0, 1, 2, 3, 4});
    const NDArray down = counted(6, device);
    down.slice(0, 5).copy_from(down.slice(1, 6));
    CHECK(down.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 5});
  }
}

TEST_CASE("copying between disjoint views of one array is one write") {
  for (const Device device : devices()) {
    const NDArray array = counted(4, device);
    array.slice(0, 2).copy_from(array.slice(2, 4));
    CHECK(array.to_vector<float>() == std::vector<float>{2, 3, 2, 3});
    CHECK(Engine::get().version(array.var()) == 2);
  }
}

TEST_CASE("copying an array to itself does nothing") {
  const NDArray array = counted(4, Device::cpu());
  array.copy_from(array);
  array.slice(1, 3).copy_from(array.slice(1, 3));
  array.wait_to_read();
  CHECK(Engine::get().version(array.var()) == 1);
}

TEST_CASE("a copy from a poisoned array is poisoned with the same error") {
  for (const auto& [from, to] : device_pairs()) {
    CAPTURE(from, to);
    const NDArray source = counted(2, from);
    support::poison(source);
    const NDArray target = NDArray::zeros({2}, to);
    target.copy_from(source);
    CHECK(failed_operation([&] { target.wait_to_read(); }) == "poison");
  }
}

TEST_CASE("writing all of a poisoned array heals it") {
  for (const Device device : devices()) {
    const NDArray array = counted(4, device);
    support::poison(array);
    CHECK(failed_operation([&] { array.wait_to_read(); }) == "poison");
    array.copy_from(NDArray::ones({4}));
    CHECK(array.to_vector<float>() == std::vector<float>(4, 1));
    support::poison(array);
    CHECK(failed_operation([&] { array.wait_to_read(); }) == "poison");
    array.reshape({2, 2}).copy_from(NDArray::zeros({2, 2}));
    CHECK(array.to_vector<float>() == std::vector<float>(4, 0));
  }
}

TEST_CASE("writing a part of a poisoned array does not heal it") {
  for (const Device device : devices()) {
    const NDArray array = counted(4, device);
    support::poison(array);
    array.slice(0, 3).copy_from(NDArray::ones({3}));
    array.slice(3, 4).copy_from(NDArray::ones({1}));
    array.slice(0, 0).copy_from(NDArray::ones({0}));
    CHECK(failed_operation([&] { array.wait_to_read(); }) == "poison");
  }
}

TEST_CASE("copy_from refuses another shape or type") {
  const NDArray array({2, 3});
  CHECK(refusal([&] {
          array.copy_from(NDArray({3, 2}));
        }) == "[copy_from] source of shape (3, 2) and type float32: expected (2, 3) and float32");
  CHECK(refusal([&] {
          array.copy_from(NDArray({2, 3}, Device::cpu(), DType::kInt8));
        }) == "[copy_from] source of shape (2, 3) and type int8: expected (2, 3) and float32");
}

}  // namespace
}  // namespace heddle
