#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "engine/base/sync.h"

namespace heddle::detail {

/// Counts the operations that were pushed and have not ended, holds pushers back at a limit, and
/// lets threads wait until nothing is pending.
///
/// Thread safety: the members of the first group are guarded by the owner's lock; the others may
/// be called from any thread that does not hold it.
///
/// Invariants:
///  - pending_ exceeds limit_ only by what was taken without has_room().
///  - Who waits raises blocked_ or draining_ before it looks at pending_ under the owner's lock;
///    who lowers pending_ under that lock asks worth_telling() afterwards: one sees the other.
///  - tell() changes events_ under mutex_, and who sleeps has read events_ before it looked at
///    pending_: nobody sleeps through it.
///  - Blocked pushers are admitted in the order in which they came, and before those that come
///    while some are blocked.
class PendingLimit {
 public:
  explicit PendingLimit(std::size_t limit);

  // Under the owner's lock.
  bool has_room() const { return pending_ < limit_; }
  void take(std::size_t count = 1) { pending_ += count; }
  void give_back(std::size_t count = 1) { pending_ -= count; }
  std::size_t pending() const { return pending_; }
  /// True if tell() should be called, without the lock.
  bool worth_telling() const {
    return (pending_ <= low_water_ && blocked_.load(std::memory_order_relaxed) != 0) ||
           (pending_ == 0 && draining_.load(std::memory_order_relaxed));
  }

  // Without the owner's lock.
  /// Pushers that wait for room.
  std::size_t blocked() const { return blocked_.load(); }
  bool has_line() const { return blocked() != 0; }
  bool stopped() const { return stopped_.load(); }
  /// Blocks until `try_take`, called in the turn of this thread, returns true. False after stop().
  bool wait_for_room(const std::function<bool()>& try_take);
  /// Refuses further admissions; turns blocked pushers away.
  void stop();
  /// Blocks until `pending` returns 0. False if `deadline` came first.
  bool wait_until_empty(base::Clock::time_point deadline,
                        const std::function<std::size_t()>& pending);
  void tell();

 private:
  const std::size_t limit_;
  /// Pushers are woken in bulk, when this many are pending; a waiting pusher looks by itself once
  /// in a while, so that it goes on where the rest never ends.
  const std::size_t low_water_;
  std::size_t pending_ = 0;
  alignas(64) base::Atomic<std::size_t> blocked_{0};  ///< workers read it all the time
  base::Atomic<bool> draining_{false};
  base::Atomic<bool> stopped_{false};

  base::Mutex mutex_;  ///< guards what follows
  base::ConditionVariable told_;
  std::uint64_t events_ = 0;
  std::deque<const void*> line_;  ///< the blocked pushers, first come first served
};

}  // namespace heddle::detail
