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

thread_local bool t_sweeps = false;

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
  // Leaked: its thread is never joined.
  static auto* const completion = new CudaCompletion;
  return *completion;
}

CudaCompletion::CudaCompletion() {
  base::start_thread("hdl-cuda-done", [this] { serve(); }).detach();
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
  const std::unique_lock lock(sweep_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const base::ScopedValue<bool> sweeps(t_sweeps, true);
  timeline.finish_some();
}

void CudaCompletion::stop() {
  // The lock is kept for good. A thread that is stuck in an operation is not waited for.
  static_cast<void>(sweep_mutex_.try_lock_for(kStopLimit));
}

void CudaCompletion::serve() {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // in ns: naps are short
  t_sweeps = true;
  Timelines busy;
  for (;;) {
    rest(busy);
    add_arrived(busy);
    const std::lock_guard lock(sweep_mutex_);
    if (sweep(busy)) last_event_ = Clock::now();
  }
}

void CudaCompletion::add_arrived(Timelines& busy) noexcept try {
  const std::lock_guard lock(mutex_);
  busy.reserve(busy.size() + arrived_.size());
  std::move(arrived_.begin(), arrived_.end(), std::back_inserter(busy));
  arrived_.clear();
} catch (const std::bad_alloc&) {
  // There may be memory at the next look.
}

/// Until it is time to look again.
void CudaCompletion::rest(const Timelines& busy) {
  const auto is_urgent = [](const auto& timeline) { return timeline->is_urgent(); };
  const auto is_called = [this] { return is_eager_.load(); };
  std::unique_lock lock(mutex_);
  is_eager_.store(false);
  const Clock::time_point now = Clock::now();
  if (std::any_of(busy.begin(), busy.end(), is_urgent)) {
    is_eager_.store(true);
    last_urgent_ = now;
    const auto has_arrival = [this] { return !arrived_.empty(); };
    const auto nap = nap_after(now - last_event_);
    if (nap.count() != 0 && called_.wait_for(lock, nap, has_arrival)) last_event_ = Clock::now();
    return;
  }
  if (!arrived_.empty()) return;
  lock.unlock();
  while (!is_called() && Clock::now() - last_urgent_ < kLinger) base::cpu_relax();
  lock.lock();
  if (busy.empty()) {
    called_.wait(lock, is_called);
  } else {
    called_.wait_for(lock, kUnhurried, is_called);
  }
  last_event_ = Clock::now();
}

/// True if anything was finished. Timelines that are empty are dropped.
bool CudaCompletion::sweep(Timelines& busy) {
  bool any = false;
  for (const auto& timeline : busy) any = timeline->finish_some() || any;
  std::erase_if(busy, [](const auto& timeline) { return timeline->stop_watching(); });
  return any;
}

}  // namespace heddle::device
