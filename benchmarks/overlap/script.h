#pragma once

#include <cstdint>
#include <vector>

namespace bench::overlap {

/// A program written in one way, with all that it works on, which is there before it runs.
class Script {
 public:
  Script() = default;
  virtual ~Script() = default;
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// Goes on where the last call has stopped, and returns when everything has ended.
  virtual void run(int steps) = 0;
  /// What it has computed. Equal bits for equally many steps, however a program is written.
  virtual std::vector<std::vector<float>> results() const = 0;
};

/// How large the pieces of work are.
struct Sizes {
  std::int64_t side = 512;  ///< of the matrices, in elements: a multiple of 8

  std::int64_t matrix() const { return side * side; }
  std::int64_t edge() const { return matrix() * 3 / 8; }  ///< what the halo exchange sends
};

/// Of the pipeline: more than it has on the GPU at a time, so that one that is overwritten shows.
inline constexpr std::int64_t kChunks = 8;

// What the scripts begin with. But for the last, the numbers are integers, so that products are
// exact in any order.

/// A matrix whose product with another one has that one's columns, each one further to the right:
/// a step too many or too few shows.
std::vector<float> shifting_matrix(const Sizes& sizes);
/// `begin`, `begin` + 1, …
std::vector<float> rising(std::int64_t size, std::int64_t begin);
/// The other way round.
std::vector<float> falling(std::int64_t size, std::int64_t begin);
/// Numbers between -`most` and `most` in no order, which `seed` chooses.
std::vector<float> mixed(std::int64_t size, float most, std::uint32_t seed);

}  // namespace bench::overlap
