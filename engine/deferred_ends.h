#pragma once

#include <cstdint>

#include "engine/base/sync.h"
#include "engine/trace_log.h"

namespace heddle::detail {

/// Since when ends of operations are posted, in a WorkerPool whose workers are all busy, that
/// nobody has taken note of.
///
/// Thread safety: every member may be called from any thread. What WorkerPool says of who defers
/// and who looks rests on all but are_overdue() being sequentially consistent.
class DeferredEnds {
 public:
  void add() {
    if (since_.load() == 0) since_.store(now_ns());
  }
  /// True if there are some: the caller takes note of them now.
  bool take() { return since_.exchange(0) != 0; }
  /// The oldest has waited for long.
  bool are_overdue() const {
    const std::int64_t since = since_.load(std::memory_order_relaxed);
    return since != 0 && now_ns() - since > kMax;
  }

 private:
  static constexpr std::int64_t kMax = 3000;  ///< in ns

  base::Atomic<std::int64_t> since_{0};  ///< when the oldest was deferred; 0: there is none
};

}  // namespace heddle::detail
