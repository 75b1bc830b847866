#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/announced_ops.h"
#include "engine/base/spin_lock.h"
#include "engine/device/backend.h"
#include "engine/device/deferred_call.h"
#include "engine/lane_queue.h"
#include "engine/ready_queue.h"

namespace heddle::detail {

class ThreadedEngine;

/// The operations of one lane of a device with streams. Holds the ready ones in priority order and
/// issues them to the stream, so many at a time that the stream does not run dry and not more, as
/// what is issued cannot be overtaken any more.
///
/// What is issued to a compute stream ahead of the oldest operation that is not ready yet, that one
/// will have to stand behind: perhaps others wait for it, as for the edge of a grid whose interior
/// could go on for long. So it is not more than takes kAhead, unless its priority is higher. But
/// the stream of a real GPU gets what is ready: there each end would come back to the host first.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants (under mutex_):
///  - in_flight_ operations are issued and not finished, at most window_, or one more that was
///    overtaken for long. What the stream holds back together counts as one.
///  - One thread at a time issues (issuing_), or is going to, as there is something (deferred_); a
///    thread that finds another at it leaves its operations to that one, which looks again before
///    it stops, or has issued so many that it leaves the rest to who frees the next place.
///  - While operations are queued because the stream has enough, it is asked to hurry.
class StreamLane final : public LaneQueue {
 public:
  /// What goes to `stream`, of which at most `window` operations are in flight. If `on_host` they
  /// run in the stream's turn, on workers of `pool` unless that is null; else issue() runs them.
  StreamLane(ThreadedEngine& engine, std::unique_ptr<device::Stream> stream, std::uint16_t flags,
             bool on_host, WorkerPool* pool, int window);

  void announce(Operation& operation) override;
  void submit(ReadyList operations) override;
  void hurry() noexcept override { stream_->hurry(); }
  void raise(Operation& operation, int from, int to) override;

  /// Ends the stream and its threads. Every operation must have ended.
  void close();

 private:
  static void run(void* operation);
  static void failed(void* operation, std::exception_ptr error);
  static void finished(void* operation);
  static void issue_deferred(void* lane);

  void retire_some(std::unique_lock<base::SpinLock>& lock);
  void issue_some(std::unique_lock<base::SpinLock>& lock);
  void issue_claimed(std::unique_lock<base::SpinLock>& lock);
  bool go_behind_others();
  bool may_issue();
  const Operation* first() const;
  bool may_lack_memory() const;
  bool is_halted() const;
  int most_in_flight();
  void measure();
  void issue(Operation& op, bool& is_held) noexcept;
  device::Token issue_behind_others(const Operation& op, const device::Work& work);
  void free_place();

  /// So many are in flight, and have been submitted since, when it is worth a look at what has
  /// ended.
  static constexpr int kCrowd = 16;

  ThreadedEngine& engine_;
  const int window_;
  std::unique_ptr<device::Stream> stream_;

  AnnouncedOps announced_;  ///< and not submitted

  base::SpinLock mutex_;  ///< guards what follows
  ReadyQueue queue_;
  int in_flight_ = 0;
  int unlooked_ = 0;  ///< submissions since the last look at what has ended
  bool issuing_ = false;
  device::DeferredCall deferred_{.call = &StreamLane::issue_deferred, .argument = this};
  bool is_ahead_ = false;   ///< what goes to the stream next goes before something announced
  std::int64_t took_ = 0;   ///< an operation, while that is so, in ns; 0: not known
  std::int64_t since_ = 0;  ///< when the first one in the stream came to be that; 0: not known
  std::vector<device::Token> waits_;  ///< scratch of the issuing thread
};

}  // namespace heddle::detail
