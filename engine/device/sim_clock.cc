#include "engine/device/sim_clock.h"

#include <algorithm>
#include <cerrno>

#include <sys/prctl.h>
#include <time.h>

namespace heddle::device {
namespace {

thread_local Clock::duration t_lag{0};

/// The kernel may otherwise wake this thread up to 50 us late to save power.
void set_least_timer_slack() {
  thread_local const bool set = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
  static_cast<void>(set);
}

void sleep_until(Clock::time_point end) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds::rep kSecond = 1'000'000'000;
  const nanoseconds::rep since_boot = nanoseconds(end.time_since_epoch()).count();
  timespec moment{};
  moment.tv_sec = static_cast<time_t>(since_boot / kSecond);
  moment.tv_nsec = static_cast<decltype(moment.tv_nsec)>(since_boot % kSecond);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
  }
}

}  // namespace

Clock::time_point model_now() { return Clock::now() - t_lag; }

void wait_until(Clock::time_point end) {
  const Clock::time_point now = Clock::now();
  if (now >= end) {
    t_lag = std::min(t_lag, now - end);
    return;
  }
  set_least_timer_slack();
  sleep_until(end);
  t_lag = Clock::now() - end;
}

LagScope::LagScope(Clock::duration& lag, Clock::time_point ready) : lag_(lag) {
  t_lag = std::min(lag, Clock::now() - ready);
}

LagScope::~LagScope() {
  lag_ = t_lag;
  t_lag = Clock::duration::zero();
}

}  // namespace heddle::device
