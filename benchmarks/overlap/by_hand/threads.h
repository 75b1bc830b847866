#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/device/backend.h"

namespace bench::overlap::by_hand {

/// Threads that run what the streams of simulated GPUs compute, first come, first served.
///
/// Thread safety: execute() may be called from any thread.
class Threads final : public heddle::device::Executor {
 public:
  explicit Threads(int count);
  /// Everything must have been run.
  ~Threads() override;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void execute(const heddle::device::Work& work) noexcept override;

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<heddle::device::Work> queue_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace bench::overlap::by_hand
