#include "kvstore/sum.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/kvstore/support.h"

namespace heddle::kvstore {
namespace {

/// The kernel's sum of arrays of one length.
template <class T>
std::vector<T> sum_of(const std::vector<std::vector<T>>& arrays, DType dtype = dtype_of<T>) {
  std::vector<const std::byte*> inputs;
  for (const std::vector<T>& array : arrays) {
    inputs.push_back(reinterpret_cast<const std::byte*>(array.data()));
  }
  std::vector<T> out(arrays[0].size());
  sum_kernel(Device::cpu(), dtype)(inputs, reinterpret_cast<std::byte*>(out.data()),
                                   static_cast<std::int64_t>(out.size()));
  return out;
}

TEST_CASE("any number of floats is summed in order, bit for bit") {
  const int count = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 11, 16);
  const std::int64_t size = GENERATE(0, 1, 7, 64, 2047, 2049, 10000);
  CAPTURE(count, size);
  support::Random random(static_cast<std::uint64_t>(count * 100000 + size));
  std::vector<std::vector<float>> arrays;
  for (int i = 0; i < count; ++i) arrays.push_back(support::fractions(random, size));

  std::vector<float> expected = arrays[0];
  for (std::size_t k = 1; k < arrays.size(); ++k) {
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += arrays[k][i];
  }
  CHECK(sum_of(arrays) == expected);
}

TEST_CASE("doubles are summed as doubles") {
  const double big = 1e16;
  CHECK(sum_of<double>({{big, 1}, {1, 2}, {-big, 3}, {0.5, 4}, {0.25, 5}}) ==
        std::vector<double>{0.75, 15});
}

TEST_CASE("sums of integers wrap") {
  CHECK(sum_of<std::int8_t>({{100, -100}, {100, -100}}) == std::vector<std::int8_t>{-56, 56});
  CHECK(sum_of<std::uint8_t>({{200}, {100}}) == std::vector<std::uint8_t>{44});
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(sum_of<std::int64_t>({{most}, {1}}) ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
  CHECK(sum_of<std::int32_t>({{1}, {2}, {3}, {4}, {5}, {6}}) == std::vector<std::int32_t>{21});
}

TEST_CASE("halves are rounded after each addition") {
  const std::vector<float16> ulp_lost =
      sum_of<float16>({{float16(2048)}, {float16(1)}, {float16(1)}});
  CHECK(static_cast<float>(ulp_lost[0]) == 2048);
  const std::vector<bfloat16> sum = sum_of<bfloat16>({{bfloat16(1.5F)}, {bfloat16(2)}});
  CHECK(static_cast<float>(sum[0]) == 3.5F);
}

TEST_CASE("the sum of truth values is whether one is true") {
  CHECK(sum_of<std::uint8_t>({{0, 1, 0, 1}, {0, 0, 1, 1}}, DType::kBool) ==
        std::vector<std::uint8_t>{0, 1, 1, 1});
}

}  // namespace
}  // namespace heddle::kvstore
