#include "ops/random_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/random_values.h"
#include "ops/vectorize.h"

namespace heddle::ops {

namespace {

/// Calls `convert(words, values)` for every tile of a draw and stores the values.
template <class Convert>
HEDDLE_INLINE void draw_tiles(const PhiloxPosition& start, float* out, std::int64_t n,
                              Convert convert) {
  std::uint32_t words[kPhiloxTile];
  float values[kPhiloxTile];
  for (std::int64_t i = 0; i < n; i += kPhiloxTile) {
    philox_tile(start, static_cast<std::uint64_t>(i), words);
    convert(words, values);
    std::memcpy(out + i, values,
                static_cast<std::size_t>(std::min(kPhiloxTile, n - i)) * sizeof(float));
  }
}

}  // namespace

void draw_uniform(const PhiloxPosition& start, float low, float high, float* out, std::int64_t n) {
  vectorized(
      [](PhiloxPosition from, float base, float width, float* to, std::int64_t count)
          HEDDLE_INLINE_LAMBDA {
            draw_tiles(from, to, count,
                       [=](const std::uint32_t* words, float* values) HEDDLE_INLINE_LAMBDA {
                         for (std::int64_t i = 0; i < kPhiloxTile; ++i) {
                           values[i] = base + width * unit(words[i]);
                         }
                       });
          },
      start, low, high - low, out, n);
}

void draw_normal(const PhiloxPosition& start, float mean, float stddev, float* out,
                 std::int64_t n) {
  vectorized(
      [](PhiloxPosition from, float centre, float scale, float* to, std::int64_t count)
          HEDDLE_INLINE_LAMBDA {
            draw_tiles(from, to, count,
                       [=](const std::uint32_t* words, float* values) HEDDLE_INLINE_LAMBDA {
                         for (std::int64_t i = 0; i < kPhiloxTile; i += 2) {
                           float x = 0;
                           float y = 0;
                           normal_pair(words[i], words[i + 1], x, y);
                           values[i] = centre + scale * x;
                           values[i + 1] = centre + scale * y;
                         }
                       });
          },
      start, mean, stddev, out, n);
}

void draw_bernoulli(const PhiloxPosition& start, double p, float* out, std::int64_t n) {
  vectorized(
      [](PhiloxPosition from, std::uint64_t limit, float* to, std::int64_t count)
          HEDDLE_INLINE_LAMBDA {
            draw_tiles(from, to, count,
                       [=](const std::uint32_t* words, float* values) HEDDLE_INLINE_LAMBDA {
                         for (std::int64_t i = 0; i < kPhiloxTile; ++i) {
                           values[i] = words[i] < limit ? 1.0F : 0.0F;
                         }
                       });
          },
      start, words_below(p), out, n);
}

void draw_integers(const PhiloxPosition& start, std::int64_t low, std::int64_t high,
                   std::int64_t* out, std::int64_t n) {
  const Bounded bounded(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  std::uint32_t words[kPhiloxTile];
  for (std::int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    if (i % kPhiloxTile == 0) philox_tile(start, index, words);
    const std::uint64_t value = bounded(start, index, words[i % kPhiloxTile]);
    out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value);
  }
}

void draw_permutation(const PhiloxPosition& start, std::int64_t* out, std::int64_t n) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keys(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const std::uint64_t upper = philox_word(start, index);
    keys[index] = {upper << 32U | philox_word(start, index, 1), i};
  }
  std::sort(keys.begin(), keys.end());
  for (std::int64_t i = 0; i < n; ++i) out[i] = keys[static_cast<std::size_t>(i)].second;
}

void permute_rows(std::byte* rows, std::size_t row_bytes, std::int64_t* order, std::int64_t n) {
  if (row_bytes == 0) return;
  std::vector<std::byte> spare(row_bytes);
  const auto row = [&](std::int64_t i) { return rows + static_cast<std::size_t>(i) * row_bytes; };
  for (std::int64_t start = 0; start < n; ++start) {
    if (order[start] == start) continue;
    std::memcpy(spare.data(), row(start), row_bytes);
    std::int64_t hole = start;
    while (order[hole] != start) {
      const std::int64_t source = std::exchange(order[hole], hole);
      std::memcpy(row(hole), row(source), row_bytes);
      hole = source;
    }
    std::memcpy(row(hole), spare.data(), row_bytes);
    order[hole] = hole;
  }
}

}  // namespace heddle::ops
