#include "overlap/script.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>

namespace bench::overlap {

std::vector<float> shifting_matrix(const Sizes& sizes) {
  const auto rows = static_cast<std::size_t>(sizes.side);
  std::vector<float> values(rows * rows, 0.0F);
  for (std::size_t row = 0; row < rows; ++row) values[row * rows + (row + 1) % rows] = 1.0F;
  return values;
}

std::vector<float> rising(std::int64_t size, std::int64_t begin) {
  std::vector<float> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), static_cast<float>(begin));
  return values;
}

std::vector<float> falling(std::int64_t size, std::int64_t begin) {
  std::vector<float> values = rising(size, begin);
  std::reverse(values.begin(), values.end());
  return values;
}

std::vector<float> mixed(std::int64_t size, float most, std::uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) {
    value = (static_cast<float>(random() % 2001) - 1000.0F) * (most / 1000.0F);
  }
  return values;
}

}  // namespace bench::overlap
