#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/sync.h"
#include "engine/graph_run.h"

namespace heddle::detail {

/// The runs of recordings in which the workers of a pool may take part.
///
/// Thread safety: guarded by its owner's lock, but for may_add(), count() and empty(), which may be
/// a little out of date without it.
class OpenRuns {
 public:
  /// Every look for work goes through all of them.
  bool may_add() const { return count() < kMax; }
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  bool empty() const { return count() == 0; }
  void add(GraphRun& run);
  void remove(GraphRun& run);

  /// An item with an operation that goes before `other`, which may be none, of another run than
  /// `but`; or null.
  GraphItem* join(const ReadyPlace& other, const GraphRun* but = nullptr) const;
  /// As GraphRun::raise_items(), of all.
  template <class Moved>
  void raise_items(Moved&& moved) const {
    for (GraphRun* const run : runs_) run->raise_items(moved);
  }
  bool has_ready() const;
  bool has_held_in_order() const;
  /// All do that keep order, or those that are stuck. True if any may have: what is posted has to
  /// be collected then.
  bool leave_orders(bool all) const;
  /// How many of their operations, and of those of all that were removed, have ended.
  std::uint64_t ended() const;

 private:
  static constexpr std::size_t kMax = 32;

  std::vector<GraphRun*> runs_;
  base::Atomic<std::size_t> count_{0};
  std::uint64_t ended_before_ = 0;  ///< of runs that were removed
};

}  // namespace heddle::detail
