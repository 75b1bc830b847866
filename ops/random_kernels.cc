#include "ops/random_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "ops/element.h"

namespace heddle::ops {

namespace {

HEDDLE_INLINE float unit(std::uint32_t word) {
  return static_cast<float>(word) * 0x1p-32F + 0x1p-33F;
}

/// cos and sin of a 2^-32th of the circle times `word`, as radius times them.
HEDDLE_INLINE void on_circle(std::uint32_t word, float radius, float& x, float& y) {
  constexpr float kTurn = 1.46291807927e-9F;  // 2 pi / 2^32
  const std::uint32_t quadrant = (word + 0x20000000U) >> 30U;
  const auto rest = static_cast<std::int32_t>(word - (quadrant << 30U));
  const float angle = static_cast<float>(rest) * kTurn;  // within +- pi / 4
  const float z = angle * angle;
  const float sine =
      ((-1.9515295891e-4F * z + 8.3321608736e-3F) * z - 1.6666654611e-1F) * z * angle + angle;
  const float cosine =
      ((2.443315711809948e-5F * z - 1.388731625493765e-3F) * z + 4.166664568298827e-2F) * z * z -
      0.5F * z + 1.0F;
  const bool swapped = (quadrant & 1U) != 0;
  const float across = swapped ? sine : cosine;
  const float up = swapped ? cosine : sine;
  x = radius * (quadrant == 1 || quadrant == 2 ? -across : across);
  y = radius * (quadrant >= 2 ? -up : up);
}

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

/// Integers in [0, range) without bias, after D. Lemire, "Fast random integer generation in an
/// interval" (2019): the words that would make some results likelier are drawn again.
class Bounded {
 public:
  explicit Bounded(std::uint64_t range)
      : range_(range),
        narrow_(range <= kWord),
        threshold_(narrow_ ? kWord % range : (0 - range) % range) {}

  /// The result for element i of a draw, whose word i is `word`.
  std::uint64_t operator()(const PhiloxPosition& start, std::uint64_t i, std::uint32_t word) const {
    return narrow_ ? narrow(start, i, word) : wide(start, i, word);
  }

 private:
  static constexpr std::uint64_t kWord = std::uint64_t{1} << 32U;
  __extension__ using Product = unsigned __int128;

  std::uint64_t narrow(const PhiloxPosition& start, std::uint64_t i, std::uint32_t word) const {
    std::uint64_t product = word * range_;
    for (std::uint32_t extra = 1; product % kWord < threshold_; ++extra) {
      product = philox_word(start, i, extra) * range_;
    }
    return product / kWord;
  }

  std::uint64_t wide(const PhiloxPosition& start, std::uint64_t i, std::uint32_t low) const {
    for (std::uint32_t extra = 1;; extra += 2) {
      const std::uint64_t word = philox_word(start, i, extra) * kWord + low;
      const Product product = static_cast<Product>(word) * range_;
      if (static_cast<std::uint64_t>(product) >= threshold_) {
        return static_cast<std::uint64_t>(product >> 64U);
      }
      low = philox_word(start, i, extra + 1);
    }
  }

  std::uint64_t range_;
  bool narrow_;
  std::uint64_t threshold_;
};

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
                           const float radius = std::sqrt(-2.0F * logarithm(unit(words[i])));
                           float x = 0;
                           float y = 0;
                           on_circle(words[i + 1], radius, x, y);
                           values[i] = centre + scale * x;
                           values[i + 1] = centre + scale * y;
                         }
                       });
          },
      start, mean, stddev, out, n);
}

void draw_bernoulli(const PhiloxPosition& start, double p, float* out, std::int64_t n) {
  const auto below = static_cast<std::uint64_t>(std::llround(p * 0x1p32));
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
      start, below, out, n);
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
