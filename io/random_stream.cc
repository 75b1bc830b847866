#include <bit>

#include "heddle/sample.h"

namespace heddle::io {
namespace {

// SplitMix64: a counter with this odd step, and a mix of its bits that is a bijection.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::int64_t epoch, std::int64_t id)
    : state_(mix(seed + kStep)) {
  for (const std::int64_t part : {epoch, id}) {
    state_ = mix((state_ ^ static_cast<std::uint64_t>(part)) + kStep);
  }
}

RandomStream::result_type RandomStream::operator()() { return mix(state_ += kStep); }

std::uint64_t RandomStream::below(std::uint64_t bound) {
  // Draws of just enough bits, until one is in range: unbiased, fewer than two on average.
  const std::uint64_t mask = std::bit_ceil(bound) - 1;
  std::uint64_t drawn = (*this)() & mask;
  while (drawn >= bound) drawn = (*this)() & mask;
  return drawn;
}

}  // namespace heddle::io
