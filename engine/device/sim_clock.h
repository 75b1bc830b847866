#pragma once

#include "engine/base/sync.h"

namespace heddle::device {

/// The time of simulated links. On Linux this is CLOCK_MONOTONIC.
using Clock = base::Clock;

// A real copy engine begins the next copy of its queue at the moment the last one ends. Its model,
// a thread, wakes up late from its timed wait, is preempted, and runs callbacks in between. So the
// work of a stream runs on *model time*: the wall clock less a lag, which is chosen when a piece of
// work starts such that the piece begins when it was ready and the one before it ended, and not
// when its thread got round to it. Real work takes as long in the model as it does on the wall.

/// Model time of the piece of work that the calling thread runs; the wall clock if it runs none.
Clock::time_point model_now();

/// Blocks, asleep, until `end`, which model_now() then gives. Returns at once if the wall clock has
/// passed it, be it that the thread lags or that real work took longer than the modelled.
void wait_until(Clock::time_point end);

/// While it lives, the calling thread runs a piece of a stream's work.
class ModelTime {
 public:
  /// Of a piece that begins when its thread gets round to it.
  ModelTime();
  /// `ready`: when the piece could have begun but for the work before it. `stream_end`: when that
  /// ended, in model time; set to the end of this piece by the destructor.
  ModelTime(Clock::time_point ready, Clock::time_point& stream_end);
  ~ModelTime();
  ModelTime(const ModelTime&) = delete;
  ModelTime& operator=(const ModelTime&) = delete;

 private:
  friend void wait_until(Clock::time_point end);
  friend Clock::time_point model_now();

  Clock::time_point* stream_end_ = nullptr;
  Clock::duration lag_{};
};

}  // namespace heddle::device
