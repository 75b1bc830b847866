#pragma once

#include <cstdint>
#include <limits>

#include "engine/base/sync.h"

namespace heddle::detail {

/// What the workers of a pool have taken along, as far as who brings something must know it:
/// whether that goes before.
///
/// A batch runs before what is in the queue. Only what has become ready since may go before it. If
/// that has to run first, call_back() is called, and every worker that took some before, and so has
/// another mark, returns what is left of it; among equals with one worker only.
///
/// Thread safety: is_urgent(), call_back() and is_current() may be called from any thread, the rest
/// by workers. Sequentially consistent: who takes some that stands elsewhere than the last says so,
/// in tell(), before it looks into the inbox again, and who brings something asks is_urgent() when
/// it is in the inbox: one sees the other.
class TakenAlong {
 public:
  using Mark = std::uint32_t;

  explicit TakenAlong(bool order_is_exact) : is_exact_(order_is_exact) {}

  /// True if something of this place goes before what was taken along.
  bool is_urgent(int priority, std::uint64_t sequence) const {
    const int taken = priority_.load();
    if (priority != taken) return priority > taken;
    return is_exact_ && sequence < sequence_.load();
  }
  void call_back() { calls_.fetch_add(1); }
  /// Nothing has been called back since begin() gave `mark`.
  bool is_current(Mark mark) const { return calls_.load(std::memory_order_relaxed) == mark; }

  /// A worker takes some along. Until tell() or none() all that comes may have to go first.
  Mark begin() {
    const Mark mark = calls_.load();
    if (is_exact_) sequence_.store(std::numeric_limits<std::uint64_t>::max());
    return mark;
  }
  /// It has taken some, of which this is the last. True if what came meanwhile may go before.
  bool tell(int priority, std::uint64_t sequence) {
    const bool changes = priority_.load(std::memory_order_relaxed) != priority;
    if (changes) priority_.store(priority);
    if (is_exact_) sequence_.store(sequence);
    return changes || is_exact_;
  }
  void none() {
    if (is_exact_) sequence_.store(0);
  }

 private:
  const bool is_exact_;
  alignas(64) base::Atomic<Mark> calls_{0};
  /// Of what was taken along last. Nothing is urgent before the first.
  base::Atomic<int> priority_{std::numeric_limits<int>::max()};
  base::Atomic<std::uint64_t> sequence_{0};
};

}  // namespace heddle::detail
