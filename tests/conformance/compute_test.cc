#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "heddle/heddle.h"

#include "tests/conformance/target.h"

// Computing: what comes out is what a loop over a vector gives.

namespace heddle::conformance {
namespace {

using Integers = std::vector<std::int64_t>;

NDArray counted(std::int64_t size, Device where) {
  return NDArray::arange(0, size, 1, where, DType::kInt64);
}

/// `steps` times x * 3 + y, and y - x in turn.
template <class T>
void alternate(T& x, T& y, int step) {
  if (step % 2 == 0) {
    x = x * 3 + y;
  } else {
    y = y - x;
  }
}

TEST_CASE("a chain that never comes back to the host gives what the host would compute") {
  constexpr std::int64_t kSize = 300;
  constexpr int kSteps = 200;
  for (const Device where : devices()) {
    NDArray x = counted(kSize, where);
    NDArray y = NDArray::ones({kSize}, where, DType::kInt64);
    for (int step = 0; step < kSteps; ++step) alternate(x, y, step);
    Integers expected;
    for (std::int64_t i = 0; i < kSize; ++i) {
      auto a = static_cast<std::uint64_t>(i);  // wraps as the arrays do
      std::uint64_t b = 1;
      for (int step = 0; step < kSteps; ++step) alternate(a, b, step);
      expected.push_back(static_cast<std::int64_t>(a));
    }
    CHECK(x.to_vector<std::int64_t>() == expected);
  }
}

TEST_CASE("a chain that moves from device to device gives what one device would compute") {
  NDArray x = counted(500, device(0));
  Integers expected;
  for (std::int64_t i = 0; i < 500; ++i) expected.push_back(i);
  for (std::size_t step = 0; step < 100; ++step) {
    x = x.to(device(step)) * 5 + 7;
    for (std::int64_t& value : expected) {
      value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * 5 + 7);
    }
  }
  CHECK(x.to_vector<std::int64_t>() == expected);
}

TEST_CASE("what all devices compute from one array can be gathered on each of them") {
  const NDArray x = counted(1000, Device::cpu());
  for (const Device owner : devices()) {
    NDArray total = NDArray::zeros({1000}, owner, DType::kInt64);
    std::int64_t factors = 0;
    for (std::size_t i = 0; i < devices().size(); ++i) {
      const auto factor = static_cast<std::int64_t>(i + 1);
      factors += factor;
      total += (x.to(device(i)) * factor).to(owner);
    }
    Integers expected;
    for (std::int64_t i = 0; i < 1000; ++i) expected.push_back(i * factors);
    CHECK(total.to_vector<std::int64_t>() == expected);
  }
}

TEST_CASE("element by element and in sums every device gives the bits of the CPU") {
  random::seed(11);
  const NDArray x = random::uniform(-2, 2, {64, 33}, Device::cpu());
  const NDArray y = random::uniform(1, 3, {64, 33}, Device::cpu());
  const auto compute = [](const NDArray& a, const NDArray& b) {
    return sum(relu(a * b - a / b) + sqrt(b), 1).to_vector<float>();
  };
  const std::vector<float> expected = compute(x, y);
  for (const Device where : devices()) {
    CHECK(compute(x.to(where), y.to(where)) == expected);
  }
}

TEST_CASE("an update in place is seen by those pushed behind it and by none before it") {
  for (std::size_t i = 0; i < devices().size(); ++i) {
    NDArray x = NDArray::zeros({1000}, device(i));
    std::vector<NDArray> sums;
    for (int step = 0; step < 50; ++step) {
      sums.push_back(sum(x));
      x += 1.0F;
      if (step % 10 == 0) x = x.to(device(i + 1)).copy().to(device(i));
    }
    for (std::size_t step = 0; step < sums.size(); ++step) {
      CHECK(sums[step].item<float>() == 1000.0F * static_cast<float>(step));
    }
  }
}

TEST_CASE("a draw has the same bits on every device") {
  const auto draw = [](Device where) {
    std::vector<std::vector<float>> drawn;
    for (const std::int64_t size : {1, 5, 1000}) {
      drawn.push_back(random::uniform(-1, 1, {size}, where).to_vector<float>());
      drawn.push_back(random::normal(0, 2, {size}, where).to_vector<float>());
      drawn.push_back(random::bernoulli(0.3, {size}, where).to_vector<float>());
    }
    return drawn;
  };
  random::seed(42);
  const auto expected = draw(Device::cpu());
  for (const Device where : devices()) {
    random::seed(42);
    CHECK(draw(where) == expected);
  }
}

TEST_CASE("integers that are drawn are the same on every device") {
  const auto draw = [](Device where) {
    return random::randint(-5, 1000, {777}, where).to_vector<std::int64_t>();
  };
  for (const Device where : devices()) {
    random::seed(7);
    const Integers expected = draw(Device::cpu());
    random::seed(7);
    CHECK(draw(where) == expected);
  }
}

}  // namespace
}  // namespace heddle::conformance
