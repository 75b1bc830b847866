#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/grain.h"
#include "engine/base/sync.h"

namespace heddle::detail {

/// Whether one worker runs the operations of a recording, in order, faster than several would. Only
/// an estimate: an update may get lost.
///
/// Thread safety: every member may be called from any thread.
class Fineness {
 public:
  /// They seem to be so small.
  bool is_fine() const { return votes_.load(std::memory_order_relaxed) >= kMost / 2; }
  /// Whether a run begins in order. If operations `are_tiny`, of late, some do so although these
  /// are not fine: they may only seem so while several workers are in each other's way.
  bool begins_in_order(bool are_tiny) {
    if (is_fine()) return true;
    if (!are_tiny) return false;
    const std::uint32_t runs = runs_not_fine_.load(std::memory_order_relaxed) + 1;
    runs_not_fine_.store(runs, std::memory_order_relaxed);
    return runs % kTryEvery == 0;
  }
  /// What one of them has turned out to be. Most of many count: one may have been interrupted, and
  /// those of a large program wait for memory now and then.
  void measured(bool is_fine, bool are_tiny) {
    const int more = is_fine ? 1 : are_tiny ? -1 : -kMost / 8;
    const int votes = votes_.load(std::memory_order_relaxed) + more;
    votes_.store(std::clamp(votes, 0, kMost), std::memory_order_relaxed);
  }
  /// One has kept others from running for long, or was interrupted: it takes some to make that
  /// good.
  void found_slow() {
    votes_.store(std::min(votes_.load(std::memory_order_relaxed), kMost * 3 / 8),
                 std::memory_order_relaxed);
  }

 private:
  static constexpr int kMost = base::kMostVotes;
  static constexpr std::uint32_t kTryEvery = 8;

  base::Atomic<int> votes_{kMost};
  base::Atomic<std::uint32_t> runs_not_fine_{0};
};

}  // namespace heddle::detail
