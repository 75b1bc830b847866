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

/// Elements of a side of the matrices: 2 * 512^3 flops a product.
inline constexpr std::int64_t kSide = 512;
/// Elements of what the halo exchange sends.
inline constexpr std::int64_t kEdge = 96 * 1024;

// What the scripts begin with. The numbers are integers, so that products are exact in any order.

/// A matrix whose product with another one has that one's columns, each one further to the right:
/// a step too many or too few shows.
std::vector<float> shifting_matrix();
/// `begin`, `begin` + 1, …
std::vector<float> rising(std::int64_t size, std::int64_t begin);
/// The other way round.
std::vector<float> falling(std::int64_t size, std::int64_t begin);

}  // namespace bench::overlap
