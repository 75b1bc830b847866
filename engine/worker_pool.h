#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/spin_mutex.h"
#include "engine/device/backend.h"
#include "engine/operation.h"
#include "engine/ready_queue.h"

namespace heddle::detail {

class ThreadedEngine;

/// Threads of the CPU that run the operations of one lane, and the work of simulated devices.
///
/// A worker that finds many ready operations takes some of them along, and runs the first that it
/// makes ready itself, so that it need not come to the queue for each.
///
/// Thread safety: every member may be called from any thread, stop() once.
///
/// Invariants (under mutex_ but for Worker::batch):
///  - A worker sleeps only if it found the queue and every batch empty. Whoever makes the queue
///    longer wakes one sleeping worker unless another one is searching (searching_), be it awake or
///    just being woken; a searching worker that finds something wakes the next if there is more. So
///    nothing is left in the queue while a worker sleeps and none searches.
///  - A node is in the queue, in one element of one batch, or running. Whoever exchanges it out of
///    a batch has it: its worker or, when that is busy, another one that found nothing else.
///  - What is in a batch goes before what is in the queue, but for what became ready later. If the
///    order asks for that to run first, urgent_ is raised, and every worker that took its batch
///    before returns what is left of it. For equal priorities that is done with one worker only.
class WorkerPool final : public LaneQueue, public device::Executor {
 public:
  enum class Idle : std::uint8_t {
    kSpin,   ///< look for work for a moment before sleeping
    kSleep,  ///< sleep at once
  };

  WorkerPool(ThreadedEngine& engine, std::string name, int threads, Idle idle);
  ~WorkerPool() override;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool is_stream() const override { return false; }
  void submit(ReadyList operations) override;
  void execute(const device::Work& work) override;

  /// Ends the threads. The queue must be empty and stay so.
  void stop();

 private:
  static constexpr std::size_t kMaxBatch = 16;
  struct StreamItem;
  struct alignas(64) Worker {
    std::array<std::atomic<ReadyNode*>, kMaxBatch> batch{};
    // Of its thread.
    std::size_t next = 0;  ///< in batch
    std::size_t count = 0;
    std::uint32_t urgent = 0;  ///< urgent_ when the batch was taken
    std::uint64_t kept = 0;    ///< operations run ahead of the batch
    std::thread thread;
  };

  void work(Worker& me);
  void run(Worker& me, ReadyNode& node);
  /// The node that the ended one has made ready and that runs next, or null.
  ReadyNode* keep_or_queue(Worker& me, Operation& op);
  ReadyNode* next(Worker& me);
  ReadyNode* from_batch(Worker& me);
  void return_batch(Worker& me);
  ReadyNode* search(Worker& me);
  ReadyNode* steal(const Worker& me);
  ReadyNode* take(Worker& me);
  void spin() const;
  void sleep(std::unique_lock<base::SpinMutex>& lock);
  void add(ReadyNode& node);
  /// Makes one sleeping worker search if it has to: then the caller calls wake() without the lock.
  bool claim_sleeper();
  void wake() { wakes_.notify_one(); }

  ThreadedEngine& engine_;
  const std::string name_;
  const Idle idle_;
  std::vector<std::unique_ptr<Worker>> workers_;

  alignas(64) base::SpinMutex mutex_;
  ReadyQueue queue_;
  std::vector<std::unique_ptr<StreamItem>> free_items_;
  std::size_t searching_ = 0;
  std::size_t sleeping_ = 0;
  std::size_t woken_ = 0;  ///< of the searching ones, those that have not woken up yet
  bool has_batched_ = false;
  ReadyNode last_batched_;  ///< priority and sequence of the last node that a batch got

  /// Written under mutex_, read without.
  alignas(64) std::atomic<bool> has_work_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> urgent_{0};
  std::atomic<std::uint32_t> wakes_{0};
};

}  // namespace heddle::detail
