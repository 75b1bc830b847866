#pragma once

#include <cmath>
#include <cstdint>

#include "ops/element.h"
#include "ops/philox.h"

// From the words of a draw to its values.

namespace heddle::ops {

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

/// Two independent normal values from two words (Box and Muller).
HEDDLE_INLINE void normal_pair(std::uint32_t distance, std::uint32_t direction, float& x,
                               float& y) {
  const float radius = std::sqrt(-2.0F * logarithm(unit(distance)));
  on_circle(direction, radius, x, y);
}

/// How many of the 2^32 words are to give 1, for a probability.
inline std::uint64_t words_below(double p) {
  return static_cast<std::uint64_t>(std::llround(p * 0x1p32));
}

/// Integers in [0, range) without bias, after D. Lemire, "Fast random integer generation in an
/// interval" (2019): the words that would make some results likelier are drawn again.
class Bounded {
 public:
  HEDDLE_HOST_DEVICE explicit Bounded(std::uint64_t range)
      : range_(range),
        narrow_(range <= kWord),
        threshold_(narrow_ ? kWord % range : (0 - range) % range) {}

  /// The result for element i of a draw, whose word i is `word`.
  HEDDLE_HOST_DEVICE std::uint64_t operator()(const PhiloxPosition& start, std::uint64_t i,
                                              std::uint32_t word) const {
    return narrow_ ? narrow(start, i, word) : wide(start, i, word);
  }

 private:
  static constexpr std::uint64_t kWord = std::uint64_t{1} << 32U;
  __extension__ using Product = unsigned __int128;

  HEDDLE_HOST_DEVICE std::uint64_t narrow(const PhiloxPosition& start, std::uint64_t i,
                                          std::uint32_t word) const {
    std::uint64_t product = word * range_;
    for (std::uint32_t extra = 1; product % kWord < threshold_; ++extra) {
      product = philox_word(start, i, extra) * range_;
    }
    return product / kWord;
  }

  HEDDLE_HOST_DEVICE std::uint64_t wide(const PhiloxPosition& start, std::uint64_t i,
                                        std::uint32_t low) const {
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

}  // namespace heddle::ops
