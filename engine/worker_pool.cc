#include "engine/worker_pool.h"

#include <algorithm>
#include <utility>

#include "engine/base/thread.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

/// The pool that the calling thread works for, or null.
thread_local const WorkerPool* t_pool = nullptr;

/// True while that thread has ended its item and hands on what it made ready: it will take one of
/// those itself, so one thread less needs to be woken.
thread_local bool t_takes_next = false;

}  // namespace

/// A piece of a stream's work among the operations of the queue.
struct WorkerPool::StreamItem : ReadyNode {
  device::Work work;
};

WorkerPool::WorkerPool(ThreadedEngine& engine, std::string name, int threads)
    : engine_(engine), name_(std::move(name)), thread_count_(threads) {
  start_threads();
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::start_threads() {
  try {
    for (int i = 0; i < thread_count_; ++i) {
      threads_.push_back(base::start_thread(name_ + "-" + std::to_string(i), [this] { work(); }));
    }
  } catch (...) {
    stop();
    throw;
  }
}

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerPool::submit(ReadyList operations) {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (Operation* op = operations.pop(); op != nullptr; op = operations.pop()) {
      queue_.push(*op);
      ++count;
    }
    count = claim_idle(count);
  }
  wake(count);
}

void WorkerPool::execute(const device::Work& work) {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (free_items_.empty()) free_items_.push_back(std::make_unique<StreamItem>());
    StreamItem* item = free_items_.back().release();
    free_items_.pop_back();
    item->is_operation = false;
    item->priority = work.priority;
    item->sequence = work.sequence;
    item->work = work;
    queue_.push(*item);
    count = claim_idle(1);
  }
  wake(count);
}

std::size_t WorkerPool::claim_idle(std::size_t items) {
  if (t_takes_next && t_pool == this) {
    t_takes_next = false;
    --items;
  }
  const std::size_t claimed = std::min(items, idle_);
  idle_ -= claimed;
  woken_ += claimed;
  return claimed;
}

void WorkerPool::wake(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) ready_.notify_one();
}

ReadyNode* WorkerPool::next() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (ReadyNode* node = queue_.pop()) return node;
    if (stopping_) return nullptr;
    ++idle_;
    ready_.wait(lock, [this] { return woken_ > 0 || stopping_; });
    if (woken_ > 0) --woken_;
  }
}

void WorkerPool::work() {
  t_pool = this;
  while (ReadyNode* node = next()) run(*node);
}

void WorkerPool::run(ReadyNode& node) {
  if (node.is_operation) {
    auto& op = static_cast<Operation&>(node);
    ReadyList ready;
    engine_.execute(op);
    t_takes_next = true;
    engine_.after_callable(op, ready);
    engine_.dispatch(ready);
    t_takes_next = false;
    return;
  }
  auto& item = static_cast<StreamItem&>(node);
  const device::Work work = item.work;
  {
    const std::lock_guard lock(mutex_);
    free_items_.emplace_back(&item);
  }
  work.run(work.argument);
  t_takes_next = true;
  work.finished(work.argument);
  t_takes_next = false;
}

}  // namespace heddle::detail
