#pragma once

#include <cstdint>

#include "engine/base/sync.h"
#include "engine/tour.h"

namespace heddle::detail {

struct Worker;

/// A thread of a PoolGroup. It is always some worker, but not always the same.
///
/// Thread safety: the thread's own, but for what is atomic.
///
/// Invariants:
///  - While its worker sleeps (Worker::is_asleep), has been claimed by who has not yet woken this
///    thread, or was recalled before it was there, others may make it another sleeping worker (see
///    PoolGroup::stand_in); while that worker's seat is lent to a Tour, who displaces the thread on
///    tour may.
struct PoolThread {
  explicit PoolThread(Worker& first) : worker(&first) {}

  /// What it was woken for.
  enum Woken : std::uint32_t { kNot, kToWork, kToWatch };

  void wake() {
    woken.store(kToWork);
    woken.notify_one();
  }
  /// It was woken to work and is not here yet: it need not. False if it is here, or was not woken.
  bool sleep_on() {
    std::uint32_t to_work = kToWork;
    return woken.compare_exchange_strong(to_work, kNot);
  }
  void ask_to_watch() {
    std::uint32_t not_yet = kNot;
    if (woken.compare_exchange_strong(not_yet, kToWatch)) woken.notify_one();
  }

  base::Atomic<Worker*> worker;
  /// To work: its worker was claimed for it, or all is at an end.
  base::Atomic<std::uint32_t> woken{kNot};
  bool is_changing = false;   ///< see PoolGroup::begin_change()
  bool is_searching = false;  ///< its worker counts as searching, though it has not begun to
  bool keeps_off = false;     ///< while it sleeps: see IdleWorkers
  std::uint64_t watched = 0;  ///< PoolGroup::takes() when it watched last
  Tour tour;
  base::Thread thread;
};

}  // namespace heddle::detail
