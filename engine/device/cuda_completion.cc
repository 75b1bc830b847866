#include "engine/device/cuda_completion.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sys/prctl.h>

#include "engine/base/thread.h"

namespace heddle::device {
namespace {

using Clock = base::Clock;

constexpr std::chrono::microseconds kSpin{20};
constexpr std::chrono::microseconds kLongestNap{200};
constexpr std::chrono::milliseconds kLongestRest{5};
constexpr std::chrono::milliseconds kStopLimit{100};

/// How long to sleep if nothing has happened for `idle`; zero: not at all. What took long is
/// noticed late by a five-hundredth of that, so that the thread costs next to nothing meanwhile.
std::chrono::nanoseconds nap_after(std::chrono::nanoseconds idle) {
  if (idle < kSpin) return std::chrono::nanoseconds::zero();
  const auto nap = std::min<std::chrono::nanoseconds>(idle / 4, kLongestNap);
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

void CudaCompletion::watch(std::shared_ptr<CudaTimeline> timeline) {
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(timeline));
  }
  arrival_.notify_one();
}

void CudaCompletion::stop() {
  // The lock is kept for good. A thread that is stuck in an operation is not waited for.
  static_cast<void>(sweep_mutex_.try_lock_for(kStopLimit));
}

void CudaCompletion::serve() {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // in ns: naps are short
  std::vector<std::shared_ptr<CudaTimeline>> busy;
  Clock::time_point last_event = Clock::now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto arrived = [this] { return !arrived_.empty(); };
      if (busy.empty()) {
        arrival_.wait(lock, arrived);
      } else if (const auto nap = nap_after(Clock::now() - last_event); nap.count() > 0) {
        arrival_.wait_for(lock, nap, arrived);
      }
      if (arrived()) last_event = Clock::now();
      busy.insert(busy.end(), std::make_move_iterator(arrived_.begin()),
                  std::make_move_iterator(arrived_.end()));
      arrived_.clear();
    }
    const std::lock_guard lock(sweep_mutex_);
    if (sweep(busy)) last_event = Clock::now();
  }
}

/// True if anything was finished. Timelines that are empty are dropped.
bool CudaCompletion::sweep(std::vector<std::shared_ptr<CudaTimeline>>& busy) {
  bool any = false;
  for (const auto& timeline : busy) any = timeline->finish_some() || any;
  std::erase_if(busy, [](const auto& timeline) { return timeline->stop_watching(); });
  return any;
}

}  // namespace heddle::device
