#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/base/sync.h"
#include "engine/device/cuda_timeline.h"
#include "engine/device/deferred_call.h"

namespace heddle::device {

/// Finds out what GPUs are done with, and calls `finished`, on a thread of the process that leads
/// in that, or on one that calls retire(). What a `finished` defers follows on the same thread,
/// with what else that has deferred, unless it has to wait.
///
/// To find out, the thread never blocks in CUDA: it asks the event of the oldest piece of each busy
/// stream, which keeps those that enqueue from the driver. So it does that all the time, and then
/// less and less often, only as long as somebody on the host waits for a piece (hurry()): it is
/// late by a fraction of the time that it waited then. Otherwise it looks now and then, and sleeps,
/// if it has not for a moment, while no stream is busy.
///
/// One thread at a time asks, for all GPUs: then a piece that waited for one of another GPU is
/// finished after it without any further measure. A call that was deferred may wait for what is
/// finished then: the thread leaves the lead to another one first, and what else it has deferred to
/// who leads.
///
/// Thread safety: every member but stop() may be called from any thread, stop() by the thread that
/// ends the process.
///
/// Invariants:
///  - One thread leads (is_led_), or is about to. It has the leader's fields.
///  - A timeline that counts as watched is in arrived_ or in busy_.
///  - sweep_mutex_ is held by who asks and calls `finished`, and nothing that is deferred.
///  - What is deferred is in the Deferral of the thread that is to call it, or in left_, which the
///    leader takes over when it looks again; after stop() nobody does.
///  - While a timeline that the leader has is urgent, is_eager_ is true or the thread is about to
///    look: it clears is_eager_ and then looks for such a timeline; hurry() makes one urgent and
///    then looks at is_eager_.
class CudaCompletion {
 public:
  /// Started by the first call, which throws std::system_error if there is no thread to be had, and
  /// never ended.
  static CudaCompletion& instance();

  /// So many timelines may be watched. Throws std::bad_alloc.
  void make_room(std::size_t timelines);
  /// Adds a timeline, until it is found empty.
  void watch(std::shared_ptr<CudaTimeline> timeline) noexcept;

  /// A timeline has become urgent.
  void hurry() noexcept;
  /// Asks for the pieces of the timeline at once, unless somebody asks for others, as the caller
  /// may itself. It is not destroyed meanwhile.
  void retire(CudaTimeline& timeline);

  /// The calling thread, which defers, is going to block or has done enough: others go on with
  /// what it has to do here, and with `calls`, which it has deferred.
  void leave(DeferredCalls& calls) noexcept;

  /// Keeps everybody from asking CUDA ever again, and who leads or has led from making further
  /// calls. Blocks for a moment.
  void stop();

 private:
  using Timelines = std::vector<std::shared_ptr<CudaTimeline>>;

  CudaCompletion();
  void start_thread();
  bool can_start_thread() noexcept;
  void serve();
  void look();
  void add_arrived() noexcept;
  void rest();
  bool has_arrival() const { return !arrived_.empty() || !left_.empty(); }
  bool sweep();
  bool make(DeferredCalls& calls);
  void put_left(DeferredCalls& calls) noexcept;

  base::Mutex mutex_;  // guards what follows
  base::ConditionVariable called_;
  Timelines arrived_;
  DeferredCalls left_;
  base::Atomic<bool> is_eager_{true};  // read by anybody; set to true with arrivals, too
  bool is_led_ = false;
  base::ConditionVariable is_left_;       // it is not led
  int spare_ = 0;                         // threads that wait to lead
  base::Atomic<bool> is_stopped_{false};  // read by anybody
  int callers_ = 0;                       // threads that make calls as they lead, or have led
  base::ConditionVariable has_called_;

  std::timed_mutex sweep_mutex_;

  // The leader's:
  Timelines busy_;
  base::Clock::time_point last_event_ = base::Clock::now();
  base::Clock::time_point last_urgent_;
};

}  // namespace heddle::device
