#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/thread_group.h"
#include "engine/waiter.h"

namespace heddle::detail {

/// The operations that the same wait_for_all() calls cover.
struct Generation {
  std::uint64_t number = 0;
  std::atomic<std::uint64_t> added{0};  ///< written by one thread at a time
  base::Counter ended;
  /// Operations that ended while somebody waited, and how many of these make it worth a look.
  alignas(64) std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> look_at{std::numeric_limits<std::uint64_t>::max()};
};

/// Counts pending operations by the wait_for_all() calls that cover them. An operation pushed from
/// outside belongs to the newest generation, one pushed by an operation to that one's; a wait
/// closes the newest generation and ends when all closed ones are empty. So a wait covers what was
/// pushed before it and all that follows from that, but not what others push meanwhile.
///
/// Thread safety: newest(), add() and begin_wait() are serialized by the caller; the others may be
/// called from any thread.
///
/// Invariants (all atomic operations named here are sequentially consistent):
///  - Who adds to a closed generation is an operation of it, which has not ended. So a closed one
///    is empty for ever once `ended`, and `added` read after it, are equal.
///  - end() counts in `ended` before it looks at waiting_, which a waiter raises before it sums. So
///    what a sum misses is counted in `late`, and look() reads that before it sums: when `missing`
///    more are late, all that it missed have ended, and who is the last of them looks again.
///  - end() counts in `late` before it reads look_at, look() writes look_at before it reads `late`
///    again: one sees the other.
///  - A generation is used again, but not freed: a count in `late` that comes after its end makes
///    somebody look too early, and no more.
class Generations {
 public:
  Generations();

  Generation& newest() const { return *newest_; }
  static void add(Generation& generation) {
    generation.added.store(generation.added.load(std::memory_order_relaxed) + 1);
  }
  void end(Generation& generation) {
    generation.ended.add();
    if (waiting_.load() == 0) return;
    if (generation.late.fetch_add(1) + 1 >= generation.look_at.load()) look();
  }

  /// Registers a waiter for all that is pending; it is woken when that has ended. False, and not
  /// registered, if nothing is pending.
  bool begin_wait(Waiter& waiter);
  /// After each begin_wait() that was true, when the waiter was woken.
  void end_wait();
  /// Wakes all waiters: nothing further will end.
  void stop();

 private:
  void look();
  /// With mutex_ held.
  void look_locked();
  void open();
  void drop_empty();
  void wake(std::uint64_t below, Waiter::State state);

  std::atomic<std::uint64_t> waiting_{0};
  Generation* newest_ = nullptr;

  std::mutex mutex_;                              ///< guards what follows
  std::deque<std::unique_ptr<Generation>> open_;  ///< oldest first; the last one is newest_
  std::vector<std::unique_ptr<Generation>> unused_;
  std::uint64_t opened_ = 0;
  Waiter* waiters_ = nullptr;
};

}  // namespace heddle::detail
