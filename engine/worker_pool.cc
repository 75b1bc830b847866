#include "engine/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/thread.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

/// As long as it takes to wake a thread: who sleeps sooner pays more than it saves.
constexpr std::chrono::microseconds kSpin{20};

/// Operations that a worker may run ahead of its batch.
constexpr std::uint64_t kMaxKept = ReadyQueue::kPatience;

}  // namespace

/// A piece of a stream's work among the operations of the queue.
struct WorkerPool::StreamItem : ReadyNode {
  device::Work work;
};

WorkerPool::WorkerPool(ThreadedEngine& engine, std::string name, int threads, Idle idle)
    : engine_(engine), name_(std::move(name)), idle_(idle) {
  for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
  try {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = *workers_[i];
      worker.thread =
          base::start_thread(name_ + "-" + std::to_string(i), [this, &worker] { work(worker); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
    wakes_.fetch_add(1);
  }
  wakes_.notify_all();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void WorkerPool::add(ReadyNode& node) {
  queue_.push(node);
  if (!has_batched_) return;
  const bool is_urgent = workers_.size() == 1 ? goes_before(node, last_batched_)
                                              : node.priority > last_batched_.priority;
  if (is_urgent) urgent_.store(urgent_.load(std::memory_order_relaxed) + 1);
}

bool WorkerPool::claim_sleeper() {
  has_work_.store(!queue_.empty(), std::memory_order_relaxed);
  if (queue_.empty() || sleeping_ == 0 || searching_ != 0) return false;
  --sleeping_;
  ++searching_;
  ++woken_;
  wakes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void WorkerPool::submit(ReadyList operations) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    while (Operation* const op = operations.pop()) add(*op);
    wakes = claim_sleeper();
  }
  if (wakes) wake();
}

void WorkerPool::execute(const device::Work& work) {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (free_items_.empty()) free_items_.push_back(std::make_unique<StreamItem>());
    StreamItem* item = free_items_.back().release();
    free_items_.pop_back();
    item->is_operation = false;
    item->priority = work.priority;
    item->sequence = work.sequence;
    item->work = work;
    add(*item);
    wakes = claim_sleeper();
  }
  if (wakes) wake();
}

void WorkerPool::return_batch(Worker& me) {
  for (; me.next < me.count; ++me.next) {
    if (ReadyNode* const node = me.batch[me.next].exchange(nullptr)) queue_.put_back(*node);
  }
}

ReadyNode* WorkerPool::from_batch(Worker& me) {
  if (me.next == me.count) return nullptr;
  if (urgent_.load(std::memory_order_relaxed) != me.urgent) {
    const std::lock_guard lock(mutex_);
    return_batch(me);
    return nullptr;
  }
  me.kept = 0;
  while (me.next < me.count) {
    if (ReadyNode* const node = me.batch[me.next++].exchange(nullptr)) return node;
  }
  return nullptr;
}

ReadyNode* WorkerPool::take(Worker& me) {
  ReadyNode* const first = queue_.pop();
  if (first == nullptr || !queue_.in_order()) return first;
  // Few, so that something is left for each of the others also if these take long.
  const std::size_t count = std::min(kMaxBatch, queue_.size() / (2 * workers_.size()));
  if (count == 0) return first;
  for (std::size_t i = 0; i < count; ++i) {
    ReadyNode* const node = queue_.pop();
    last_batched_.priority = node->priority;
    last_batched_.sequence = node->sequence;
    me.batch[i].store(node, std::memory_order_release);
  }
  has_batched_ = true;
  me.next = 0;
  me.count = count;
  me.urgent = urgent_.load(std::memory_order_relaxed);
  return first;
}

ReadyNode* WorkerPool::steal(const Worker& me) {
  for (const auto& worker : workers_) {
    if (worker.get() == &me) continue;
    for (std::size_t i = kMaxBatch; i-- > 0;) {
      std::atomic<ReadyNode*>& place = worker->batch[i];
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (ReadyNode* const node = place.exchange(nullptr, std::memory_order_acquire)) return node;
    }
  }
  return nullptr;
}

ReadyNode* WorkerPool::next(Worker& me) {
  if (ReadyNode* const node = from_batch(me)) return node;
  return search(me);
}

ReadyNode* WorkerPool::search(Worker& me) {
  std::unique_lock lock(mutex_);
  bool searching = false;
  bool has_spun = idle_ == Idle::kSleep;
  for (;;) {
    ReadyNode* node = take(me);
    if (node == nullptr) node = steal(me);
    if (node != nullptr || stopping_.load(std::memory_order_relaxed)) {
      if (searching) --searching_;
      const bool wakes = claim_sleeper();
      lock.unlock();
      if (wakes) wake();
      return node;
    }
    has_work_.store(false, std::memory_order_relaxed);
    if (!has_spun) {
      has_spun = true;
      if (!std::exchange(searching, true)) ++searching_;
      lock.unlock();
      spin();
      lock.lock();
      continue;
    }
    if (std::exchange(searching, false)) --searching_;
    sleep(lock);
    searching = !stopping_.load(std::memory_order_relaxed);
    has_spun = idle_ == Idle::kSleep;
  }
}

void WorkerPool::spin() const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 8; ++i) {
      if (has_work_.load(std::memory_order_relaxed)) return;
      if (stopping_.load(std::memory_order_relaxed)) return;
      base::cpu_relax();
    }
  } while (Clock::now() < end);
}

/// Returns as a searching worker, unless the pool is being stopped.
void WorkerPool::sleep(std::unique_lock<base::SpinMutex>& lock) {
  ++sleeping_;
  while (woken_ == 0) {
    if (stopping_.load(std::memory_order_relaxed)) return;
    const std::uint32_t seen = wakes_.load(std::memory_order_relaxed);
    lock.unlock();
    wakes_.wait(seen, std::memory_order_relaxed);
    lock.lock();
  }
  --woken_;
}

void WorkerPool::work(Worker& me) {
  while (ReadyNode* const node = next(me)) run(me, *node);
}

void WorkerPool::run(Worker& me, ReadyNode& first) {
  ReadyNode* node = &first;
  while (node != nullptr && node->is_operation) {
    auto& op = static_cast<Operation&>(*node);
    ReadyList ready;
    engine_.execute(op);
    engine_.after_callable(op, ready);
    Operation* const mine = ready.take_first_of(*this);
    engine_.dispatch(ready);
    node = mine != nullptr ? keep_or_queue(me, *mine) : nullptr;
  }
  if (node == nullptr) return;
  auto& item = static_cast<StreamItem&>(*node);
  const device::Work work = item.work;
  {
    const std::lock_guard lock(mutex_);
    free_items_.emplace_back(&item);
  }
  work.run(work.argument);
  work.finished(work.argument);
}

ReadyNode* WorkerPool::keep_or_queue(Worker& me, Operation& op) {
  if (engine_.tracing()) op.ready_at = now_ns();
  const bool batch_is_current = urgent_.load(std::memory_order_relaxed) == me.urgent;
  while (me.next < me.count && batch_is_current && me.kept < kMaxKept) {
    ReadyNode* const other = me.batch[me.next].exchange(nullptr);
    if (other == nullptr) {  // stolen
      ++me.next;
      continue;
    }
    const bool goes_first = goes_before(op, *other);
    me.batch[me.next].store(other, std::memory_order_release);
    if (!goes_first) break;
    ++me.kept;
    return &op;
  }
  if (me.next == me.count && !has_work_.load(std::memory_order_relaxed)) return &op;
  ReadyNode* node = nullptr;
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    add(op);
    if (me.next == me.count) node = queue_.pop();
    wakes = claim_sleeper();
  }
  if (wakes) wake();
  return node;
}

}  // namespace heddle::detail
