#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/device/backend.h"

namespace heddle::device {

/// Runs work on its own threads, in the order of execute().
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~ThreadExecutor() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void execute(const Work& work) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(work);
    }
    changed_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const Work work = queue_.front();
      queue_.pop_front();
      lock.unlock();
      work.run(work.argument);
      work.finished(work.argument);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;  // guarded by mutex_
  bool closing_ = false;    // guarded by mutex_
  std::vector<std::thread> threads_;
};

/// Callables as Work, which frees them when they have finished.
inline Work make_work(
    std::function<void()> run, std::function<void()> finished = [] {}) {
  struct Callables {
    std::function<void()> run;
    std::function<void()> finished;
  };
  return {[](void* self) { static_cast<Callables*>(self)->run(); },
          [](void* self) {
            static_cast<Callables*>(self)->finished();
            delete static_cast<Callables*>(self);
          },
          new Callables{std::move(run), std::move(finished)}, 0, 0};
}

/// Blocks until everything issued to `stream` so far is finished.
inline void drain(Stream& stream) {
  std::latch done(1);
  stream.issue(make_work([] {}, [&done] { done.count_down(); }), {});
  done.wait();
}

}  // namespace heddle::device
