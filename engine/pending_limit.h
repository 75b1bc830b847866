#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "engine/engine_core.h"

namespace heddle::detail {

/// Counts the operations that were pushed and have not ended, and holds pushers back at a limit.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants:
///  - pending_ exceeds limit_ only by forced admissions.
///  - A blocked pusher raises blocked_ before it looks at pending_ for the last time, and release()
///    lowers pending_ before it looks at blocked_ (both sequentially consistent): one sees the
///    other.
///  - Blocked pushers are admitted in the order in which they came.
class PendingLimit {
 public:
  explicit PendingLimit(std::size_t limit);

  /// False if `mode` is kTry and there is no place. Throws EngineStopped after stop(), except for
  /// kForce.
  bool acquire(AdmissionMode mode);
  void release();

  std::size_t pending() const { return pending_.load(); }
  /// Refuses further admissions, but forced ones; blocked pushers get EngineStopped.
  void stop();
  /// Blocks until nothing is pending. False if `deadline` came first.
  bool wait_until_empty(std::chrono::steady_clock::time_point deadline);

 private:
  bool try_acquire();
  void acquire_blocking();

  const std::size_t limit_;
  /// Pushers are woken in bulk, when this many are pending; a waiting pusher looks by itself once
  /// in a while, so that it goes on where the rest never ends.
  const std::size_t low_water_;
  std::atomic<std::size_t> pending_{0};
  std::atomic<std::size_t> blocked_{0};
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopped_{false};

  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable empty_;
  std::deque<const void*> line_;  ///< the blocked pushers, first come first served
};

}  // namespace heddle::detail
