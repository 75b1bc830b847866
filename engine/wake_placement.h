#pragma once

#include "engine/base/cpus.h"
#include "engine/base/sync.h"

namespace heddle::detail {

/// Where the system puts threads that are woken by who pushes. Some, as virtual machines, take a
/// CPU that is idle for one that is away, and put the thread behind the pusher on its own, where it
/// waits until that one sleeps: for milliseconds, in which nothing runs beside it. Where that has
/// been seen, a thread had better keep off the pusher's CPU while it sleeps.
///
/// Thread safety: every member may be called from any thread; what it says is a hint.
class WakePlacement {
 public:
  /// By a thread that pushes, and is going to wake another one.
  void begin_wake() {
    const int here = base::current_cpu();
    if (pushed_on_.load(std::memory_order_relaxed) != here) {
      pushed_on_.store(here, std::memory_order_relaxed);
    }
    is_waking_.store(true, std::memory_order_relaxed);
  }
  /// By a thread that has been woken.
  void end_wake() {
    if (!is_waking_.load(std::memory_order_relaxed)) return;
    is_waking_.store(false, std::memory_order_relaxed);
    if (base::current_cpu() != pushed_on_.load(std::memory_order_relaxed)) return;
    are_put_beside_.store(true, std::memory_order_relaxed);
  }
  /// The CPU that a thread had better not be put on when it is woken; -1: any will do.
  int avoided_cpu() const {
    if (!are_put_beside_.load(std::memory_order_relaxed)) return -1;
    return pushed_on_.load(std::memory_order_relaxed);
  }

 private:
  base::Atomic<int> pushed_on_{-1};  ///< the CPU, last
  base::Atomic<bool> is_waking_{false};
  base::Atomic<bool> are_put_beside_{false};
};

}  // namespace heddle::detail
