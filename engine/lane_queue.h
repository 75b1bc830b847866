#pragma once

#include <cstdint>

#include "engine/operation.h"

namespace heddle::detail {

class WorkerPool;

/// Operations that became ready together, in the order in which they did.
class ReadyList {
 public:
  bool empty() const { return head_ == nullptr; }
  const Operation* front() const { return head_; }
  void push(Operation& operation) {
    operation.newer = nullptr;
    if (tail_ != nullptr) {
      tail_->newer = &operation;
    } else {
      head_ = &operation;
    }
    tail_ = &operation;
  }
  /// Before the first one with a higher sequence number.
  void insert(Operation& operation) {
    if (tail_ == nullptr || tail_->sequence < operation.sequence) return push(operation);
    Operation* before = nullptr;
    Operation* behind = head_;
    for (; behind->sequence < operation.sequence; behind = after(*behind)) before = behind;
    operation.newer = behind;
    if (before != nullptr) {
      before->newer = &operation;
    } else {
      head_ = &operation;
    }
  }
  /// True if `holds` is so for each.
  template <class Holds>
  bool all(Holds&& holds) const {
    for (const Operation* op = head_; op != nullptr; op = after(*op)) {
      if (!holds(*op)) return false;
    }
    return true;
  }
  /// The first one, taken out; null if there is none.
  Operation* pop() {
    Operation* const first = head_;
    if (first != nullptr) {
      head_ = after(*first);
      if (head_ == nullptr) tail_ = nullptr;
    }
    return first;
  }

  /// The first one for `queue`, taken out; null if there is none.
  Operation* take_first_of(const LaneQueue& queue) {
    Operation* before = nullptr;
    for (Operation* op = head_; op != nullptr; before = op, op = after(*op)) {
      if (op->queue == &queue) return &unlink(before, *op);
    }
    return nullptr;
  }
  /// The first one for `queue` of the highest priority, taken out; null if there is none. For who
  /// queues the others before it: a less urgent one would arrive behind those that overtake it.
  Operation* take_most_urgent_of(const LaneQueue& queue) {
    Operation* most = nullptr;
    Operation* before_most = nullptr;
    Operation* before = nullptr;
    for (Operation* op = head_; op != nullptr; before = op, op = after(*op)) {
      if (op->queue != &queue) continue;
      if (most != nullptr && op->priority() <= most->priority()) continue;
      most = op;
      before_most = before;
    }
    return most != nullptr ? &unlink(before_most, *most) : nullptr;
  }

 private:
  static Operation* after(const Operation& op) { return static_cast<Operation*>(op.newer); }
  /// `before` is null for the first one.
  Operation& unlink(Operation* before, Operation& op) {
    if (before != nullptr) {
      before->newer = op.newer;
    } else {
      head_ = after(op);
    }
    if (tail_ == &op) tail_ = before;
    return op;
  }

  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
};

/// Takes ready operations of one (device, lane) and sees to it that they run.
class LaneQueue {
 public:
  /// `flags` are those of its operations that say how they wait for others.
  explicit LaneQueue(WorkerPool* pool, std::uint16_t flags = 0, bool runs_callables = false)
      : flags_(flags), runs_callables_(runs_callables), pool_(pool) {}
  virtual ~LaneQueue() = default;
  LaneQueue(const LaneQueue&) = delete;
  LaneQueue& operator=(const LaneQueue&) = delete;
  /// True if operations are issued to a stream, whose work waits for other streams by tokens.
  bool is_stream() const { return (flags_ & Operation::kOnStream) != 0; }
  std::uint16_t flags() const { return flags_; }
  /// True if submit() may run callables, as they enqueue on a real GPU.
  bool runs_callables() const { return runs_callables_; }
  /// Whose workers run the callables, and take in plain pushes for this queue; null: none do.
  WorkerPool* pool() const { return pool_; }
  /// An operation that is pushed will be submitted when what it waits for has ended, which may take
  /// long. Called with the ledger's lock, in the order of the sequence numbers: takes no lock.
  virtual void announce(Operation& /*operation*/) {}
  /// Somebody on the host waits for an operation that has been issued: see device::Stream. May be
  /// called with the ledger's lock, while there is such a one.
  virtual void hurry() noexcept {}
  /// Queues the operations without blocking on any other operation. One that workers take from may
  /// be called with the ledger's lock: takes no lock but its own.
  virtual void submit(ReadyList operations) = 0;
  /// An operation that is ready, and may be here, has got a higher priority. Called with the
  /// ledger's lock: takes no lock but its own.
  virtual void raise(Operation& operation, int from, int to) = 0;

 private:
  const std::uint16_t flags_;
  const bool runs_callables_;
  WorkerPool* const pool_;
};

/// Tells the queue of an operation that has its place if it waits on the host.
inline void announce_if_held_back(Operation& op) {
  if (!op.is(Operation::kFollowsIssued) || !op.extras->waits_on_host) return;
  // Nobody waits for a deletion.
  if (op.kind() == Submission::Kind::kRun) op.queue->announce(op);
}

/// Gives the operations of `ready` that workers run to their queues, and leaves the others.
inline void hand_on_to_workers(ReadyList& ready) {
  ReadyList rest;
  while (Operation* const op = ready.pop()) {
    const bool is_use = op->kind() == Submission::Kind::kUse;
    if (is_use || op->queue == nullptr || op->queue->is_stream()) {
      rest.push(*op);
      continue;
    }
    ReadyList one;
    one.push(*op);
    op->queue->submit(one);
  }
  ready = rest;
}

}  // namespace heddle::detail
