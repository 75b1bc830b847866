#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/base/sync.h"
#include "engine/device/cuda_timeline.h"

namespace heddle::device {

/// Finds out what GPUs are done with, and calls `finished`, on a thread of the process that it has
/// for that, or on one that calls retire().
///
/// The thread never blocks in CUDA: it asks the event of the oldest piece of each busy stream,
/// which keeps those that enqueue from the driver. So it does that all the time, and then less and
/// less often, only as long as somebody on the host waits for a piece (hurry()): it is late by a
/// fraction of the time that it waited then. Otherwise it looks now and then, and sleeps, if it has
/// not for a moment, while no stream is busy.
///
/// One thread at a time asks, for all GPUs: then a piece that waited for one of another GPU is
/// finished after it without any further measure.
///
/// Thread safety: every member but stop() may be called from any thread, stop() by the thread that
/// ends the process.
///
/// Invariants:
///  - A timeline that counts as watched is in arrived_ or in the thread's own list.
///  - sweep_mutex_ is held by who asks and calls `finished`.
///  - While a timeline that the thread has is urgent, is_eager_ is true or the thread is about to
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

  /// Keeps everybody from asking CUDA ever again. Blocks for a moment.
  void stop();

 private:
  using Timelines = std::vector<std::shared_ptr<CudaTimeline>>;

  CudaCompletion();
  void serve();
  void add_arrived(Timelines& busy) noexcept;
  void rest(const Timelines& busy);
  bool sweep(Timelines& busy);

  base::Mutex mutex_;
  base::ConditionVariable called_;
  Timelines arrived_;                  // guarded by mutex_
  base::Atomic<bool> is_eager_{true};  // set to true under mutex_, with arrivals, too
  std::timed_mutex sweep_mutex_;

  // The thread's:
  base::Clock::time_point last_event_ = base::Clock::now();
  base::Clock::time_point last_urgent_;
};

}  // namespace heddle::device
