#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::detail {

/// A set of numbers below a fixed bound of which the smallest is wanted: a bit for each, and above
/// every 64 words one that says which of them are not 0.
///
/// Thread safety: none.
///
/// Invariants:
///  - A bit of levels_[k + 1] is set if and only if its word of levels_[k] is not 0.
///  - No word of levels_[0] before first_ has a bit set.
class ReadySet {
 public:
  explicit ReadySet(std::size_t bound) {
    do {
      bound = (bound + kBits - 1) / kBits;
      levels_.emplace_back(bound);
    } while (bound > 1);
  }

  bool empty() const { return levels_.back().front() == 0; }

  /// `number` is not in it.
  void insert(std::size_t number) {
    if (number / kBits < first_) first_ = number / kBits;
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[number / kBits];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << number % kBits;
      if (!was_empty) return;
      number /= kBits;
    }
  }

  /// The smallest one; the set is not empty.
  std::size_t first() {
    if (levels_.front()[first_] == 0) find_first();
    const std::uint64_t word = levels_.front()[first_];
    return first_ * kBits + static_cast<std::size_t>(std::countr_zero(word));
  }

  /// The smallest one, taken out; the set is not empty.
  std::size_t pop() {
    const std::size_t number = first();
    std::uint64_t& word = levels_.front()[first_];
    word &= word - 1;
    if (word == 0) drop_word(first_);
    return number;
  }

 private:
  static constexpr std::size_t kBits = 64;

  void find_first() {
    first_ = 0;
    for (std::size_t k = levels_.size(); k-- > 1;) {
      const std::uint64_t word = levels_[k][first_];
      first_ = first_ * kBits + static_cast<std::size_t>(std::countr_zero(word));
    }
  }
  void drop_word(std::size_t number) {
    for (std::size_t k = 1; k < levels_.size(); ++k) {
      std::uint64_t& word = levels_[k][number / kBits];
      word &= ~(std::uint64_t{1} << number % kBits);
      if (word != 0) return;
      number /= kBits;
    }
  }

  std::vector<std::vector<std::uint64_t>> levels_;  ///< the numbers' own bits first
  std::size_t first_ = 0;
};

}  // namespace heddle::detail
