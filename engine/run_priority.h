#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::detail {

/// How urgent the operations of a GraphRun are: all as they were pushed, but for those up to one
/// that something more urgent waits for.
///
/// Thread safety: guarded by the run's lock.
class RunPriority {
 public:
  explicit RunPriority(int pushed) : pushed_(pushed), lent_(pushed) {}

  int pushed() const { return pushed_; }      ///< by any thread
  bool is_lent() const { return end_ != 0; }  ///< some have got a higher one
  int of(std::uint32_t op) const { return op < end_ ? lent_ : pushed_; }
  /// For operations up to `last`. Where several priorities are lent the highest counts for all of
  /// them. False if that changes nothing.
  bool lend(int priority, std::uint32_t last) {
    if (priority <= of(last)) return false;
    lent_ = std::max(lent_, priority);
    end_ = std::max(end_, last + 1);
    return true;
  }

 private:
  const int pushed_;
  int lent_;
  std::uint32_t end_ = 0;  ///< of those to which lent_ is lent
};

}  // namespace heddle::detail
