#pragma once

#include <deque>
#include <mutex>
#include <utility>

#include "heddle/unique_function.h"

#include "engine/base/thread.h"

namespace heddle::support {

/// A thread that is no engine's, for completing operations. Runs what it is given in order;
/// destroying it first runs what is queued. Thread safety: post() from any thread.
class ForeignThread {
 public:
  ForeignThread() : thread_(base::start_thread("foreign", [this] { run(); })) {}
  ~ForeignThread() {
    post({});
    thread_.join();
  }
  ForeignThread(const ForeignThread&) = delete;
  ForeignThread& operator=(const ForeignThread&) = delete;

  void post(UniqueFunction<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      UniqueFunction<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      if (!task) return;
      task();
    }
  }

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::deque<UniqueFunction<void()>> tasks_;  // an empty one ends the thread
  base::Thread thread_;                       // last: it uses the others
};

}  // namespace heddle::support
