#include "engine/device/cuda_completion.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include <sys/prctl.h>

#include "engine/base/scoped_value.h"
#include "engine/base/thread.h"

namespace heddle::device {
namespace {

using base::Clock;

/// How long the thread stays awake, without asking, when nobody waits any more: mostly somebody
/// does again soon, and to wake it takes long.
constexpr std::chrono::microseconds kLinger{100};
constexpr std::chrono::microseconds kSpin{20};
constexpr std::chrono::microseconds kLongestNap{200};
constexpr std::chrono::milliseconds kLongestRest{5};
/// How long nobody looks if nobody waits.
constexpr std::chrono::milliseconds kUnhurried{2};
constexpr std::chrono::milliseconds kStopLimit{100};

thread_local bool t_leads = false;   // as is_led_ says of one thread
thread_local bool t_sweeps = false;  // the thread has sweep_mutex_

/// How long to sleep if somebody waits and nothing has happened for `idle`; zero: not at all. What
/// took long is noticed late by a five-hundredth of that, so that the thread costs next to nothing
/// meanwhile.
std::chrono::nanoseconds nap_after(std::chrono::nanoseconds idle) {
  if (idle < kSpin) return std::chrono::nanoseconds::zero();
  const auto nap = std::min<std::chrono::nanoseconds>(idle / 16, kLongestNap);
  const auto rest = std::min<std::chrono::nanoseconds>(idle / 500, kLongestRest);
  return std::max(nap, rest);
}

}  // namespace

CudaCompletion& CudaCompletion::instance() {
  // Leaked: its threads are never joined.
  static auto* const completion = new CudaCompletion;
  return *completion;
}

CudaCompletion::CudaCompletion() { start_thread(); }

void CudaCompletion::start_thread() {
  base::start_thread("hdl-cuda-done", [this] { serve(); }).detach();
}

bool CudaCompletion::can_start_thread() noexcept try {
  start_thread();
  return true;
} catch (...) {
  return false;
}

void CudaCompletion::make_room(std::size_t timelines) {
  const std::lock_guard lock(mutex_);
  arrived_.reserve(timelines);
}

void CudaCompletion::watch(std::shared_ptr<CudaTimeline> timeline) noexcept {
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(timeline));
    is_eager_.store(true);
  }
  called_.notify_one();
}

void CudaCompletion::hurry() noexcept {
  if (is_eager_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    is_eager_.store(true);
  }
  called_.notify_one();
}

void CudaCompletion::retire(CudaTimeline& timeline) {
  if (t_sweeps) return;
  const Deferral deferral;  // the lock is given back before
  const std::unique_lock lock(sweep_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const base::ScopedValue<bool> sweeps(t_sweeps, true);
  timeline.finish_some();
}

/// A thread that is stuck in an operation is not waited for any longer.
void CudaCompletion::stop() {
  {
    std::unique_lock lock(mutex_);
    is_stopped_ = true;
    has_called_.wait_for(lock, kStopLimit, [this] { return callers_ == 0; });
  }
  static_cast<void>(sweep_mutex_.try_lock_for(kStopLimit));  // and is kept for good
}

void CudaCompletion::serve() {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // in ns: naps are short
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      ++spare_;
      is_left_.wait(lock, [this] { return !is_led_; });
      --spare_;
      is_led_ = true;
    }
    for (t_leads = true; t_leads;) look();
  }
}

void CudaCompletion::look() {
  rest();
  add_arrived();
  const Deferral deferral;
  const bool is_event = sweep();
  if ((make(*deferred_calls()) || is_event) && t_leads) last_event_ = Clock::now();
}

/// Makes some of the calls and of those that others have left, and perhaps leaves the lead. True if
/// there was any.
bool CudaCompletion::make(DeferredCalls& calls) {
  {
    const std::lock_guard lock(mutex_);
    calls.add_all(left_);
    if (calls.empty()) return false;
    ++callers_;
  }
  make_some(calls, [this] { return !is_stopped_.load(); });
  const std::lock_guard lock(mutex_);
  put_left(calls);
  if (--callers_ == 0) has_called_.notify_all();
  return true;
}

void leave_deferred_calls() noexcept {
  DeferredCalls* const calls = deferred_calls();
  if (calls == nullptr || t_sweeps || (calls->empty() && !t_leads)) return;
  CudaCompletion::instance().leave(*calls);
}

/// Has the leader take over what there is. By who has mutex_.
void CudaCompletion::put_left(DeferredCalls& calls) noexcept {
  if (calls.empty()) return;
  left_.add_all(calls);
  is_eager_.store(true);
  called_.notify_one();
}

void CudaCompletion::leave(DeferredCalls& calls) noexcept {
  bool has_spare = false;
  {
    const std::lock_guard lock(mutex_);
    put_left(calls);
    has_spare = spare_ != 0;
  }
  if (!t_leads) return;
  // Without a thread to be had what it would find has to wait.
  if (!has_spare && !can_start_thread()) return;
  {
    const std::lock_guard lock(mutex_);
    t_leads = is_led_ = false;
  }
  is_left_.notify_one();
}

void CudaCompletion::add_arrived() noexcept try {
  const std::lock_guard lock(mutex_);
  busy_.reserve(busy_.size() + arrived_.size());
  std::move(arrived_.begin(), arrived_.end(), std::back_inserter(busy_));
  arrived_.clear();
} catch (const std::bad_alloc&) {
  // There may be memory at the next look.
}

/// Until it is time to look again.
void CudaCompletion::rest() {
  const auto is_urgent = [](const auto& timeline) { return timeline->is_urgent(); };
  const auto is_called = [this] { return is_eager_.load(); };
  std::unique_lock lock(mutex_);
  is_eager_.store(false);
  const Clock::time_point now = Clock::now();
  if (std::any_of(busy_.begin(), busy_.end(), is_urgent)) {
    is_eager_.store(true);
    last_urgent_ = now;
    const auto is_needed = [this] { return has_arrival(); };
    const auto nap = nap_after(now - last_event_);
    if (nap.count() != 0 && called_.wait_for(lock, nap, is_needed)) last_event_ = Clock::now();
    return;
  }
  if (has_arrival()) return;
  lock.unlock();
  while (!is_called() && Clock::now() - last_urgent_ < kLinger) base::cpu_relax();
  lock.lock();
  if (busy_.empty()) {
    called_.wait(lock, is_called);
  } else {
    called_.wait_for(lock, kUnhurried, is_called);
  }
  last_event_ = Clock::now();
}

/// True if anything was finished. Timelines that are empty are dropped.
bool CudaCompletion::sweep() {
  const std::lock_guard lock(sweep_mutex_);
  const base::ScopedValue<bool> sweeps(t_sweeps, true);
  bool any = false;
  for (const auto& timeline : busy_) any = timeline->finish_some() || any;
  std::erase_if(busy_, [](const auto& timeline) { return timeline->stop_watching(); });
  return any;
}

}  // namespace heddle::device
