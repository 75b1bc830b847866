#include "ops/philox.h"

#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "ops/random_kernels.h"

namespace heddle::ops {

TEST_CASE("Philox4x32-10 gives the known answers of Random123") {
  // kat_vectors of the Random123 distribution, lines "philox4x32 10".
  CHECK(philox({0, 0, 0, 0}, 0, 0) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("words stand in the order of cuRAND's host generator") {
  // curandGenerate of a host generator of type PHILOX4_32_10, legacy ordering, CUDA 13.0: twelve
  // values from the given offset on.
  struct Golden {
    std::uint64_t seed;
    std::uint64_t offset;
    std::vector<std::uint32_t> words;
  };
  const std::vector<Golden> golden = {
      {42,
       0,
       {0x9ceaf053, 0x77f5493b, 0x12bf50ad, 0x5742b3d7, 0x02933769, 0x2051e913, 0x3b68b038,
        0xb62c409c, 0x65fe70a6, 0x852e5866, 0x6bef1d5a, 0xb11de8b5}},
      {42,
       262140,
       {0xca414919, 0x680c18c2, 0x683324da, 0x6ff67ed4, 0xfcdb2127, 0x53ba6cfd, 0x838f5a6e,
        0x744e06fb, 0x20ff9139, 0xfdd21d94, 0x1b0af4ec, 0x39c6bd08}},
      {0x123456789abcdef,
       std::uint64_t{1} << 40U,
       {0xdd609a14, 0xd2cab46c, 0xf862aa05, 0xf2228a74, 0xe65eba09, 0x8cecbcd2, 0x3a62e97b,
        0x58e9f47f, 0xa927adf0, 0xc4551e5a, 0x1ed10774, 0x98edd652}}};
  for (const Golden& expected : golden) {
    const PhiloxPosition start{.seed = expected.seed, .block = expected.offset / 4};
    for (std::uint64_t i = 0; i < expected.words.size(); ++i) {
      CHECK(philox_word(start, i) == expected.words[i]);
    }
  }
}

TEST_CASE("a tile holds the same words as one by one") {
  const PhiloxPosition start{.seed = 7, .block = 65530};
  std::uint32_t words[kPhiloxTile];
  philox_tile(start, 8, words);
  for (std::uint64_t i = 0; i < kPhiloxTile; ++i) CHECK(words[i] == philox_word(start, 8 + i));
}

TEST_CASE("uniform values are cuRAND's") {
  // curandGenerateUniform as above.
  std::vector<float> values(4);
  draw_uniform({.seed = 42, .block = 65535}, 0, 1, values.data(), 4);
  CHECK(values ==
        std::vector<float>{0x1.948292p-1F, 0x1.a03064p-2F, 0x1.a0cc94p-2F, 0x1.bfd9fcp-2F});
}

}  // namespace heddle::ops
