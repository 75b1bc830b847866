#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "engine/base/thread_group.h"
#include "engine/engine_core.h"

namespace heddle::detail {

/// Counts the operations that were pushed and have not ended, and holds pushers back at a limit.
///
/// Pushers and workers would pass the line of one counter to and fro with every operation. So
/// releases are counted apart, on a line for each of a few groups of threads, and taken off the
/// counter some at a time, or when somebody wants to know.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants:
///  - pending_ less all released counts is the number of pending operations, and exceeds limit_
///  only
///    by forced admissions.
///  - A blocked pusher raises watchers_ before it collects for the last time, and release() counts
///    before it looks at watchers_ (both sequentially consistent): one sees the other. The same
///    holds for who waits until nothing is pending.
///  - Blocked pushers are admitted in the order in which they came.
class PendingLimit {
 public:
  explicit PendingLimit(std::size_t limit);

  /// False if `mode` is kTry and there is no place. Throws EngineStopped after stop(), except for
  /// kForce.
  bool acquire(AdmissionMode mode);
  void release();

  std::size_t pending();
  /// Refuses further admissions, but forced ones; blocked pushers get EngineStopped.
  void stop();
  /// Blocks until nothing is pending. False if `deadline` came first.
  bool wait_until_empty(std::chrono::steady_clock::time_point deadline);

 private:
  /// Releases of some threads.
  struct alignas(64) Released {
    std::atomic<std::size_t> count{0};
  };

  bool try_acquire();
  void acquire_blocking();
  void give_back_if_stopped();
  /// Takes what was released off pending_; returns what is left.
  std::size_t collect();
  void take_off(std::size_t count);

  const std::size_t limit_;
  /// Pushers are woken in bulk, when this many are pending; a waiting pusher looks by itself once
  /// in a while, so that it goes on where the rest never ends.
  const std::size_t low_water_;
  /// Releases that may be counted apart: none where the limit is small.
  const std::size_t most_apart_;
  alignas(64) std::atomic<std::size_t> pending_{0};
  alignas(64) std::atomic<std::size_t> blocked_{0};
  std::atomic<bool> draining_{false};
  /// blocked_, and one if draining_.
  std::atomic<std::size_t> watchers_{0};
  std::atomic<bool> stopped_{false};
  std::array<Released, base::kThreadGroups> released_;

  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable empty_;
  std::deque<const void*> line_;  ///< the blocked pushers, first come first served
};

}  // namespace heddle::detail
