#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

// CUDA's opaque type, which it declares at global scope: a thread that does one thing after the
// other, and takes its time. Or it captures what it is given, as long as it is told to.
struct CUstream_st {
  using Work = std::function<void()>;

  CUstream_st() : thread([this] { serve(); }) {}
  ~CUstream_st() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    changed.notify_all();
    thread.join();
  }
  CUstream_st(const CUstream_st&) = delete;
  CUstream_st& operator=(const CUstream_st&) = delete;

  void enqueue(Work work) {
    {
      const std::lock_guard lock(mutex);
      if (captured.has_value()) return captured->push_back(std::move(work));
      queue.push_back(std::move(work));
    }
    changed.notify_all();
  }

  /// For a call that must not be captured: if the stream captures, that has failed.
  bool refuses_while_capturing() {
    const std::lock_guard lock(mutex);
    if (captured.has_value()) spoilt = true;
    return captured.has_value();
  }

  void serve() {
    std::uint32_t random = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(this) >> 4U);
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closing || !queue.empty(); });
      if (queue.empty()) return;
      const Work work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      random = random * 1664525U + 1013904223U;
      if (takes_time && random >> 28U == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random % 300));
      }
      work();
      lock.lock();
    }
  }

  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const bool takes_time = std::getenv("HEDDLE_FAKE_CUDA_QUICK") == nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex.
  std::deque<Work> queue;
  std::optional<std::vector<Work>> captured;  // while it captures
  bool spoilt = false;                        // what it captures
  bool closing = false;
  std::thread thread;
};
