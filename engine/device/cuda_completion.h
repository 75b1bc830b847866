#pragma once

#include <memory>
#include <vector>

#include "engine/base/sync.h"
#include "engine/device/cuda_timeline.h"

namespace heddle::device {

/// The thread of the process that finds out what GPUs are done with, and calls `finished`. It asks
/// the event of the oldest piece of each busy stream, at first all the time and then less and less
/// often, so that it is late by a fraction of the time that it waited; it never blocks in CUDA.
/// While no stream is busy it sleeps.
///
/// There is one such thread, not one per GPU: then a piece that waited for one of another GPU is
/// finished after it without any further measure.
///
/// Thread safety: watch() may be called from any thread, stop() by the thread that ends the
/// process.
///
/// Invariants: a timeline that counts as watched is in arrived_ or in the thread's own list;
/// sweep_mutex_ is held whenever the thread may call CUDA.
class CudaCompletion {
 public:
  /// Started by the first call and never ended.
  static CudaCompletion& instance();

  /// Adds a timeline, until it is found empty.
  void watch(std::shared_ptr<CudaTimeline> timeline);

  /// Keeps the thread from calling CUDA ever again. Blocks for a moment.
  void stop();

 private:
  CudaCompletion();
  void serve();
  static bool sweep(std::vector<std::shared_ptr<CudaTimeline>>& busy);

  base::Mutex mutex_;
  base::ConditionVariable arrival_;
  std::vector<std::shared_ptr<CudaTimeline>> arrived_;  // guarded by mutex_
  std::timed_mutex sweep_mutex_;
};

}  // namespace heddle::device
