#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ready_set.h"
#include "engine/recorded_graph.h"

namespace heddle::detail {

/// Which operations of a run of a recording are ready, that is, wait neither for a use that has not
/// been granted nor for an operation that has not ended.
///
/// While only one worker runs them, and so one operation at a time is taken, the first that has not
/// ended waits for no operation, and goes before all others if the uses that it waits for are
/// granted. So as long as they are nothing needs to be known about the others: in_order_. That ends
/// for the run with leave_order(), when it would keep somebody from working. In order the worker
/// may go on with the *row* of what it has taken, and tell later how far it has come.
///
/// Thread safety: guarded by its owner's lock.
///
/// Invariants:
///  - In order, all operations before next_ have ended, and the only one that may be taken is
///    next_, perhaps with its row; blockers_[i] counts the uses that operation i still waits for,
///    and ready_ is empty.
///  - Otherwise blockers_[i] is kHasEnded or counts the uses and the operations that operation i
///    still waits for, and ready_ holds those with none that are not taken.
class ReadyOps {
 public:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  /// A row has no more operations.
  static constexpr std::uint32_t kMostInRow = 16;

  /// `graph` outlives it.
  ReadyOps(const RecordedGraph& graph, bool one_at_a_time);

  void grant(std::uint32_t use) {
    for (const std::uint32_t op : graph_.starts[use]) {
      if (--blockers_[op] == 0 && !in_order_) ready_.insert(op);
    }
  }
  /// The last use has been pushed. Until then an operation is not worth to run ahead of those
  /// before it, as what these wait for comes at once.
  void end_push() { is_pushed_ = true; }
  bool is_pushed() const { return is_pushed_; }

  bool empty() const {
    if (!in_order_) return ready_.empty();
    return is_taken_ || next_ == blockers_.size() || blockers_[next_] != 0;
  }
  /// The smallest one that is ready and not taken; there is one.
  std::uint32_t first() { return in_order_ ? next_ : static_cast<std::uint32_t>(ready_.first()); }
  /// Probably the one that goes after `taken`, or kNone.
  std::uint32_t next_after(std::uint32_t taken) {
    if (in_order_) return std::size_t{taken} + 1 < blockers_.size() ? taken + 1 : kNone;
    return ready_.empty() ? kNone : first();
  }
  /// Takes the smallest one, if that is smaller than `taken`, which is given back, or is kNone.
  void take_first(std::uint32_t& taken) {
    if (empty()) return;
    if (in_order_) {
      is_taken_ = true;
      taken = next_;
      return;
    }
    if (taken != kNone) ready_.insert(taken);
    taken = static_cast<std::uint32_t>(ready_.pop());
  }
  /// The last one of the row of `taken`. In order these wait for nothing but each other, and a use
  /// ends with none but the last.
  std::uint32_t last_in_row(std::uint32_t taken) const {
    if (!in_order_) return taken;
    const std::size_t bound = std::min(blockers_.size(), std::size_t{taken} + kMostInRow);
    std::uint32_t last = taken;
    while (last + std::size_t{1} < bound && graph_.ends[last].empty() && blockers_[last + 1] == 0) {
      ++last;
    }
    return last;
  }
  /// The worker is at `op` of a row: those before have ended, and only `op` is taken. In order.
  void reach(std::uint32_t op) { next_ = op; }
  /// `op`, which was taken, has ended, and in order all before it. Returns one that is ready by
  /// that, and taken now, or kNone.
  std::uint32_t end(std::uint32_t op) {
    if (!in_order_) return end_out_of_order(op);
    next_ = op + 1;
    is_taken_ = false;
    return kNone;
  }
  bool has_ended(std::uint32_t op) const {
    return in_order_ ? op < next_ : blockers_[op] == kHasEnded;
  }
  bool in_order() const { return in_order_; }
  /// In order, and others than next_ may be ready, too.
  bool holds_back() const { return in_order_ && is_pushed_ && next_ != blockers_.size(); }
  /// Only in order. Who is at a row has reached what it is at.
  void leave_order();
  /// Leaves the order if nothing is ready in it: all uses that have ended are ended.
  void leave_order_if_stuck() {
    if (holds_back() && empty() && !is_taken_) leave_order();
  }

 private:
  static constexpr std::uint32_t kHasEnded = static_cast<std::uint32_t>(-1);

  std::uint32_t end_out_of_order(std::uint32_t op);

  const RecordedGraph& graph_;
  bool in_order_;
  bool is_pushed_ = false;
  bool is_taken_ = false;   ///< in order: next_
  std::uint32_t next_ = 0;  ///< in order: the first that has not ended
  std::vector<std::uint32_t> blockers_;
  ReadySet ready_;
};

}  // namespace heddle::detail
