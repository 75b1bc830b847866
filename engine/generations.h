#pragma once

#include <cstdint>
#include <deque>

namespace heddle::detail {

/// Counts pending operations by the wait_for_all() calls that cover them. An operation pushed from
/// outside belongs to the newest generation, one pushed by an operation to that one's; a wait
/// closes the newest generation and ends when all closed ones are empty. So a wait covers what was
/// pushed before it and all that follows from that, but not what others push meanwhile.
///
/// Thread safety: none; guarded by the tracker's lock.
///
/// Invariant: counts_[i] operations of generation first_ + i are pending; only the last count may
/// be zero while it is first.
class Generations {
 public:
  std::uint64_t newest() const { return first_ + counts_.size() - 1; }

  void add(std::uint64_t generation) { ++counts_[generation - first_]; }

  /// True if that ended one or more generations.
  bool remove(std::uint64_t generation) {
    --counts_[generation - first_];
    const std::uint64_t before = first_;
    while (counts_.size() > 1 && counts_.front() == 0) {
      counts_.pop_front();
      ++first_;
    }
    return first_ != before;
  }

  /// Starts a new generation and returns the one that was newest.
  std::uint64_t close() {
    const std::uint64_t closed = newest();
    if (counts_.size() == 1 && counts_.front() == 0) {
      ++first_;
    } else {
      counts_.push_back(0);
    }
    return closed;
  }

  bool ended(std::uint64_t generation) const { return generation < first_; }

 private:
  std::uint64_t first_ = 0;
  std::deque<std::uint64_t> counts_{0};
};

}  // namespace heddle::detail
