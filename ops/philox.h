#pragma once

#include <array>
#include <cstdint>

#include "ops/vectorize.h"

// Philox4x32-10: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2,
// 3" (2011). A bijection of 128-bit counters under a 64-bit key, so any part of a sequence can be
// computed by itself.

namespace heddle::ops {

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// Where a draw begins: block `block` of the sequence that `seed` selects.
struct PhiloxPosition {
  std::uint64_t seed = 0;
  std::uint64_t block = 0;
};

/// One round on four words; the key is advanced by the caller.
HEDDLE_INLINE void philox_round(std::uint32_t& c0, std::uint32_t& c1, std::uint32_t& c2,
                                std::uint32_t& c3, std::uint32_t k0, std::uint32_t k1) {
  const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0;
  const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2;
  c0 = static_cast<std::uint32_t>(p1 >> 32U) ^ c1 ^ k0;
  c2 = static_cast<std::uint32_t>(p0 >> 32U) ^ c3 ^ k1;
  c1 = static_cast<std::uint32_t>(p1);
  c3 = static_cast<std::uint32_t>(p0);
}

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxKeyStep0 = 0x9E3779B9;
inline constexpr std::uint32_t kPhiloxKeyStep1 = 0xBB67AE85;

HEDDLE_HOST_DEVICE inline PhiloxBlock philox(PhiloxBlock counter, std::uint32_t k0,
                                             std::uint32_t k1) {
  auto& [c0, c1, c2, c3] = counter;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    philox_round(c0, c1, c2, c3, k0, k1);
    k0 += kPhiloxKeyStep0;
    k1 += kPhiloxKeyStep1;
  }
  return counter;
}

/// The counter of a block, laid out as cuRAND's host generator does: 65,536 subsequences that take
/// turns. Word 3 is 0 for what a draw takes first; a draw that needs more than the words of its
/// blocks takes it from the same blocks with `extra` = 1, 2, …
HEDDLE_HOST_DEVICE inline PhiloxBlock philox_counter(std::uint64_t block, std::uint32_t extra = 0) {
  const std::uint64_t turn = block / 65536;
  return {static_cast<std::uint32_t>(turn), static_cast<std::uint32_t>(turn >> 32U),
          static_cast<std::uint32_t>(block % 65536), extra};
}

/// Word i of a draw.
HEDDLE_HOST_DEVICE inline std::uint32_t philox_word(const PhiloxPosition& start, std::uint64_t i,
                                                    std::uint32_t extra = 0) {
  return philox(philox_counter(start.block + i / 4, extra), static_cast<std::uint32_t>(start.seed),
                static_cast<std::uint32_t>(start.seed >> 32U))[i % 4];
}

/// In words. With few blocks in a tile, GCC unrolls the loop over them and then fails to vectorize.
inline constexpr std::int64_t kPhiloxTile = 128;

/// Words first … first + kPhiloxTile - 1 of a draw; `first` is a multiple of four.
HEDDLE_INLINE void philox_tile(const PhiloxPosition& start, std::uint64_t first,
                               std::uint32_t* words) {
  constexpr int kBlocks = kPhiloxTile / 4;
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int k = 0; k < kBlocks; ++k) {
    const std::uint64_t block = start.block + first / 4 + static_cast<std::uint64_t>(k);
    const std::uint64_t turn = block / 65536;
    c0[k] = static_cast<std::uint32_t>(turn);
    c1[k] = static_cast<std::uint32_t>(turn >> 32U);
    c2[k] = static_cast<std::uint32_t>(block % 65536);
    c3[k] = 0;
  }
  auto k0 = static_cast<std::uint32_t>(start.seed);
  auto k1 = static_cast<std::uint32_t>(start.seed >> 32U);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    for (int k = 0; k < kBlocks; ++k) philox_round(c0[k], c1[k], c2[k], c3[k], k0, k1);
    k0 += kPhiloxKeyStep0;
    k1 += kPhiloxKeyStep1;
  }
  for (int k = 0; k < kBlocks; ++k) {
    words[4 * k] = c0[k];
    words[4 * k + 1] = c1[k];
    words[4 * k + 2] = c2[k];
    words[4 * k + 3] = c3[k];
  }
}

}  // namespace heddle::ops
