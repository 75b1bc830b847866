#pragma once

#include <chrono>

namespace heddle::device {

/// The time of simulated links. On Linux this is CLOCK_MONOTONIC.
using Clock = std::chrono::steady_clock;

// A thread that waits for a modelled moment wakes up a little late. The model does not: what comes
// next in the same stream, if it was ready all the while, starts at the modelled moment. So each
// stream keeps its *lag*, how far it runs behind the model because of late wake-ups alone.

/// The wall clock less the lag of the calling thread's stream (0 outside of a LagScope).
Clock::time_point model_now();

/// Blocks, asleep, until `end`, a moment of the model; what remains late is the new lag. If `end`
/// has passed because the real work took longer than the modelled work, that is no lag.
void wait_until(Clock::time_point end);

/// While it lives, the calling thread works for the stream whose lag is `lag`, on something that
/// became ready to run at `ready`.
class LagScope {
 public:
  LagScope(Clock::duration& lag, Clock::time_point ready);
  ~LagScope();
  LagScope(const LagScope&) = delete;
  LagScope& operator=(const LagScope&) = delete;

 private:
  Clock::duration& lag_;
};

}  // namespace heddle::device
