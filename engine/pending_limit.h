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
/// Thread safety: the owner has a lock for who takes places and another one for who gives them
/// back, which guard the members of the first two groups; pending() is exact for who holds both.
/// The others may be called from any thread that holds none.
///
/// Invariants:
///  - taken_ - given_back_ operations are pending. That exceeds limit_ only by what was taken
///    without has_room(). known_given_back_ is an older value of given_back_.
///  - Who waits raises blocked_ or draining_ before it looks at what is pending, under the lock for
///    giving back; who has given back under that lock asks worth_telling() afterwards: one sees the
///    other.
///  - tell() changes events_ under mutex_, and who sleeps has read events_ before it looked at
///    what is pending: nobody sleeps through it.
///  - Blocked pushers are admitted in the order in which they came, and before those that come
///    while some are blocked.
class PendingLimit {
 public:
  explicit PendingLimit(std::size_t limit);

  // Under the owner's lock for taking.
  [[gnu::always_inline]] bool has_room() {
    const std::size_t taken = taken_.load(std::memory_order_relaxed);
    if (taken - known_given_back_ < limit_) [[likely]] {
      return true;
    }
    known_given_back_ = given_back();
    return taken - known_given_back_ < limit_;
  }
  [[gnu::always_inline]] void take(std::size_t count = 1) {
    taken_.store(taken_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }

  // Under the owner's lock for giving back.
  void give_back(std::size_t count = 1) {
    given_back_.store(given_back_.load(std::memory_order_relaxed) + count,
                      std::memory_order_release);
  }
  std::size_t given_back() const { return given_back_.load(std::memory_order_acquire); }
  std::size_t pending() const { return taken_.load(std::memory_order_relaxed) - given_back(); }
  bool is_full() const { return pending() >= limit_; }
  bool is_draining() const { return draining_.load(std::memory_order_relaxed); }
  /// True if tell() should be called, without the lock.
  bool worth_telling() const {
    const std::size_t pending = this->pending();
    return (pending <= low_water_ && blocked_.load(std::memory_order_relaxed) != 0) ||
           (pending == 0 && is_draining());
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
  class InLine;

  const std::size_t limit_;
  /// Pushers are woken in bulk, when this many are pending; a waiting pusher looks by itself once
  /// in a while, so that it goes on where the rest never ends.
  const std::size_t low_water_;
  base::Atomic<std::size_t> taken_{0};
  std::size_t known_given_back_ = 0;  ///< of who takes
  alignas(64) base::Atomic<std::size_t> given_back_{0};
  alignas(64) base::Atomic<std::size_t> blocked_{0};  ///< workers read it all the time
  base::Atomic<bool> draining_{false};
  base::Atomic<bool> stopped_{false};

  base::Mutex mutex_;  ///< guards what follows
  base::ConditionVariable told_;
  std::uint64_t events_ = 0;
  std::deque<const void*> line_;  ///< the blocked pushers, first come first served
};

}  // namespace heddle::detail
