#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "tests/ndarray/arrays.h"

namespace heddle {
namespace {

using support::devices;
using support::refusal;

TEST_CASE("an array is made from a shape of any integers") {
  const int n = 2;
  const std::size_t m = 3;
  const std::int64_t k = 4;
  CHECK(NDArray({2, 3}).shape() == Shape{2, 3});
  CHECK(NDArray({n, m}).shape() == Shape{2, 3});
  CHECK(NDArray({5}).shape() == Shape{5});
  CHECK(NDArray(Shape{}).size() == 1);
  CHECK(NDArray::zeros({n, 3}).shape() == Shape{2, 3});
  CHECK(NDArray::zeros({m, 3}).shape() == Shape{3, 3});
  CHECK(NDArray::zeros({k, n, m}).shape() == Shape{4, 2, 3});
  CHECK(NDArray::zeros({k}).ndim() == 1);
  CHECK(NDArray::ones({}).ndim() == 0);
}

TEST_CASE("an array knows its device and type") {
  const NDArray plain({2});
  CHECK(plain.device() == Device::cpu());
  CHECK(plain.dtype() == DType::kFloat32);
  const NDArray other({2}, Device::gpu(1), DType::kInt8);
  CHECK(other.device() == Device::gpu(1));
  CHECK(other.dtype() == DType::kInt8);
}

TEST_CASE("the current device of the thread is the default") {
  set_current_device(Device::gpu(1));
  const NDArray made({2});
  const NDArray copied = NDArray::from<float>({1, 2}, {2});
  set_current_device(Device::cpu());
  CHECK(made.device() == Device::gpu(1));
  CHECK(copied.device() == Device::gpu(1));
}

TEST_CASE("an array is made from a list, a vector or a span of its element type") {
  const std::vector<float> expected{1, 2, 3, 4};
  CHECK(NDArray::from<float>({1, 2, 3, 4}, {2, 2}).to_vector<float>() == expected);
  CHECK(NDArray::from({1.0F, 2.0F, 3.0F, 4.0F}, {4}).to_vector<float>() == expected);
  CHECK(NDArray::from(expected, {4}).to_vector<float>() == expected);
  CHECK(NDArray::from<float>(expected, {4}).to_vector<float>() == expected);
  CHECK(NDArray::from(std::span<const float>(expected), {2, 2}).to_vector<float>() == expected);
  std::array<float, 4> fixed{1, 2, 3, 4};
  CHECK(NDArray::from(std::span<float>(fixed), {4}).to_vector<float>() == expected);
  CHECK(NDArray::from(std::span(fixed), {4}).to_vector<float>() == expected);
  CHECK(NDArray::from<float>(std::span(fixed).first(2), {2}).size() == 2);
  CHECK(NDArray::from(std::vector<int>{1, 2, 3}, {3}).dtype() == DType::kInt32);
  CHECK(NDArray::from({1, 2, 3}, {3}).dtype() == DType::kInt32);
  CHECK(NDArray::from<std::uint8_t>({1, 255}, {2}).dtype() == DType::kUInt8);
}

TEST_CASE("bools make a kBool array") {
  const std::vector<std::uint8_t> expected{1, 0};
  const NDArray listed = NDArray::from<bool>({true, false}, {2});
  CHECK(listed.dtype() == DType::kBool);
  CHECK(listed.to_vector<std::uint8_t>() == expected);
  CHECK(NDArray::from({true, false}, {2}).dtype() == DType::kBool);
  CHECK(NDArray::from(std::vector<bool>{true, false}, {2}).to_vector<std::uint8_t>() == expected);
  const std::array<bool, 2> fixed{true, false};
  CHECK(NDArray::from(std::span(fixed), {2}).to_vector<std::uint8_t>() == expected);
}

template <class T>
void check_round_trip(const std::vector<T>& values) {
  for (const Device device : devices()) {
    const NDArray array = NDArray::from(values, {values.size()}, device);
    CHECK(array.dtype() == dtype_of<T>);
    CHECK(array.template to_vector<T>() == values);
  }
}

TEST_CASE("the elements of every type come back as they went in") {
  check_round_trip<float>({0.1F, -2.5F, 3e38F});
  check_round_trip<double>({0.1, -2.5, 1e308});
  check_round_trip<float16>({float16(0.5F), float16(-3.0F)});
  check_round_trip<bfloat16>({bfloat16(0.5F), bfloat16(-3.0F)});
  check_round_trip<std::int8_t>({-128, 0, 127});
  check_round_trip<std::uint8_t>({0, 1, 255});
  check_round_trip<std::int32_t>({INT32_MIN, 0, INT32_MAX});
  check_round_trip<std::int64_t>({INT64_MIN, 0, INT64_MAX});
}

TEST_CASE("the values are copied at the call") {
  for (const Device device : devices()) {
    std::vector<int> values{1, 2, 3};
    const NDArray array = NDArray::from(values, {3}, device);
    values.assign(3, 0);
    CHECK(array.to_vector<int>() == std::vector<int>{1, 2, 3});
  }
}

TEST_CASE("making an array from values is its first write") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::from<float>({1, 2}, {2}, device);
    array.wait_to_read();
    CHECK(Engine::get().version(array.var()) == 1);
  }
}

TEST_CASE("arrays without elements work everywhere") {
  for (const Device device : devices()) {
    const NDArray array = NDArray::from(std::vector<float>{}, {0, 3}, device);
    CHECK(array.to_vector<float>().empty());
    CHECK(array.copy().to(Device::gpu(1)).to_vector<float>().empty());
    CHECK(array.astype(DType::kInt8).to_vector<std::int8_t>().empty());
    CHECK(array.reshape({3, 0}).slice(1, 2).shape() == Shape{1, 0});
    CHECK(NDArray::full({2, 0}, 1, device).to_vector<float>().empty());
    CHECK(NDArray::from<float>({}, {0}, device).to_vector<float>().empty());
  }
}

TEST_CASE("a number of values that does not fit the shape is refused") {
  CHECK(refusal([] {
          NDArray::from<float>({1, 2, 3}, {2, 2});
        }) == "[from] 3 values for shape (2, 2): expected 4");
  CHECK(refusal([] { NDArray::from<bool>({true}, {}, Device::gpu(0)).reshape({2}); }) ==
        "[reshape] shape () to (2): expected 1 elements");
}

TEST_CASE("a number of bytes beyond 63 bits is refused") {
  CHECK(refusal([] {
          NDArray({std::int64_t{1} << 60, 8}, Device::cpu(), DType::kFloat64);
        }) == "[Shape] (1152921504606846976, 8): expected at most 2^63 - 1 elements");
  CHECK(refusal([] { NDArray({std::int64_t{1} << 60}, Device::cpu(), DType::kFloat64); }) ==
        "[NDArray] shape (1152921504606846976) of float64: expected at most 2^63 - 1 bytes");
}

TEST_CASE("every use of NDArray{} is refused by the name of the use") {
  const NDArray none;
  const NDArray some({1});
  CHECK_FALSE(none);
  CHECK(some);
  const auto text = [](const char* use) {
    return "[" + std::string(use) + "] NDArray{} refers to nothing: expected an array";
  };
  CHECK(refusal([&] { none.shape(); }) == text("shape"));
  CHECK(refusal([&] { none.dtype(); }) == text("dtype"));
  CHECK(refusal([&] { none.device(); }) == text("device"));
  CHECK(refusal([&] { none.var(); }) == text("var"));
  CHECK(refusal([&] { none.reshape({1}); }) == text("reshape"));
  CHECK(refusal([&] { none.slice(0, 1); }) == text("slice"));
  CHECK(refusal([&] { none.at(0); }) == text("at"));
  CHECK(refusal([&] { none.to(Device::cpu()); }) == text("to"));
  CHECK(refusal([&] { none.astype(DType::kInt8); }) == text("astype"));
  CHECK(refusal([&] { none.copy(); }) == text("copy"));
  CHECK(refusal([&] { none.copy_from(some); }) == text("copy_from"));
  CHECK(refusal([&] { some.copy_from(none); }) == text("copy_from"));
  CHECK(refusal([&] { none.wait_to_read(); }) == text("wait_to_read"));
  CHECK(refusal([&] { none.wait_to_write(); }) == text("wait_to_write"));
  CHECK(refusal([&] { none.to_vector<float>(); }) == text("to_vector"));
  CHECK(refusal([&] { none.item<float>(); }) == text("item"));
  CHECK(refusal([&] { none.data<float>(); }) == text("data"));
}

}  // namespace
}  // namespace heddle
