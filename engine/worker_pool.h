#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/backend.h"
#include "engine/operation.h"
#include "engine/ready_queue.h"

namespace heddle::detail {

class ThreadedEngine;

/// Threads of the CPU that run the operations of one lane, and the work of simulated devices.
///
/// Thread safety: every member may be called from any thread, stop() once.
///
/// Invariants (under mutex_):
///  - A thread sleeps only if it found queue_ empty; idle_ counts the sleeping ones that nobody
///    has woken yet. Whoever makes the queue longer wakes one per item, so no item waits while a
///    thread sleeps.
///  - Threads are started by the first item.
class WorkerPool final : public LaneQueue, public device::Executor {
 public:
  WorkerPool(ThreadedEngine& engine, std::string name, int threads);
  ~WorkerPool() override;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool is_stream() const override { return false; }
  void submit(ReadyList operations) override;
  void execute(const device::Work& work) override;

  /// Ends the threads. The queue must be empty and stay so.
  void stop();

 private:
  struct StreamItem;

  void start_threads();
  /// Marks as many sleeping threads as woken as `items` new items need; returns how many.
  std::size_t claim_idle(std::size_t items);
  void wake(std::size_t threads);
  void work();
  void run(ReadyNode& node);
  ReadyNode* next();

  ThreadedEngine& engine_;
  const std::string name_;
  const int thread_count_;

  std::mutex mutex_;
  std::condition_variable ready_;
  ReadyQueue queue_;
  std::vector<std::unique_ptr<StreamItem>> free_items_;
  std::size_t idle_ = 0;
  std::size_t woken_ = 0;  ///< wake-ups given and not yet taken
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace heddle::detail
