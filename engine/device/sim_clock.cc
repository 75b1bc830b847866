#include "engine/device/sim_clock.h"

#include <algorithm>
#include <cerrno>

#include <sys/prctl.h>
#include <time.h>

namespace heddle::device {
namespace {

thread_local ModelTime* t_current = nullptr;

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

Clock::time_point model_now() {
  const Clock::time_point now = Clock::now();
  return t_current == nullptr ? now : now - t_current->lag_;
}

void wait_until(Clock::time_point end) {
  Clock::time_point now = Clock::now();
  const bool early = now < end;
  if (early) {
    set_least_timer_slack();
    sleep_until(end);
    now = Clock::now();
  }
  if (t_current == nullptr) return;
  // What is late after a sleep is lag. Without one, lag may have been caught up by now, but time
  // that real work took is no lag.
  t_current->lag_ = early ? now - end : std::min(t_current->lag_, now - end);
}

ModelTime::ModelTime() { t_current = this; }

ModelTime::ModelTime(Clock::time_point ready, Clock::time_point& stream_end)
    : stream_end_(&stream_end), lag_(Clock::now() - std::max(ready, stream_end)) {
  t_current = this;
}

ModelTime::~ModelTime() {
  if (stream_end_ != nullptr) *stream_end_ = model_now();
  t_current = nullptr;
}

}  // namespace heddle::device
