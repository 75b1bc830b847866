#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/kvstore.h"

namespace heddle::support {

/// SplitMix64: the same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<std::uint64_t>(limit)); }

 private:
  std::uint64_t state_;
};

/// Whole numbers, so that every sum of a few is exact.
inline std::vector<float> whole_numbers(Random& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.below(2001) - 1000);
  return values;
}

/// Numbers whose sums depend on the order of the additions.
inline std::vector<float> fractions(Random& random, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.below(2000001) - 1000000) * 1e-6F;
  return values;
}

inline NDArray vector_of(const std::vector<float>& values, Device device = Device::cpu()) {
  return NDArray::from(values, Shape{static_cast<std::int64_t>(values.size())}, device);
}

/// The text of the std::invalid_argument that `call` throws, or what happened instead.
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace heddle::support
