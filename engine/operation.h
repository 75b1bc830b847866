#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/epoch.h"

namespace heddle::detail {

class LaneQueue;

/// A place in a ReadyQueue.
struct ReadyNode {
  int priority = 0;
  std::uint64_t sequence = 0;

  // Of the queue.
  std::size_t heap_index = 0;
  std::uint64_t arrival = 0;
  ReadyNode* older = nullptr;
  ReadyNode* newer = nullptr;
  bool is_operation = true;  ///< else a piece of a stream's work
};

/// An operation from its push to its end.
///
/// Who may touch what: the pushing thread everything until Tracker::push; then the tracker's lock
/// guards the section "dependencies", the queue's lock the ReadyNode, and the thread that runs the
/// operation owns the rest.
struct Operation : ReadyNode {
  static constexpr std::size_t kInlineAccesses = 4;

  std::string name;
  Device device;
  Lane lane = Lane::kCompute;
  Submission::Kind kind = Submission::Kind::kRun;
  bool overwrites = false;
  bool brief = false;
  LaneQueue* queue = nullptr;  ///< where it runs; null: inline, by whoever makes it ready
  bool on_stream = false;      ///< `queue` issues to a stream
  /// Released when what it waits for is issued, not only when that is done.
  bool follows_issued = false;
  Task task;
  AsyncTask async_task;
  bool is_async = false;

  // Dependencies.
  std::array<Access, kInlineAccesses> inline_accesses;
  std::unique_ptr<Access[]> more_accesses;
  std::size_t access_count = 0;
  std::size_t not_granted = 0;
  std::uint64_t generation = 0;
  device::Token token;  ///< once issued
  bool issued = false;
  bool ended_early = false;  ///< its stream was done with it before it counted as issued
  Operation* next_ready = nullptr;

  // Running.
  bool cancelled = false;     ///< skipped because of kCancel
  std::exception_ptr thrown;  ///< by the callable
  std::exception_ptr failed;  ///< by the Completion
  std::atomic<int> parts{0};  ///< of an asynchronous operation: callable, completion
  std::int64_t pushed_at = 0;
  std::int64_t ready_at = 0;
  std::int64_t issued_at = 0;
  std::int64_t started_at = 0;

  Access* accesses() {
    return more_accesses != nullptr ? more_accesses.get() : inline_accesses.data();
  }
  const Access* accesses() const {
    return more_accesses != nullptr ? more_accesses.get() : inline_accesses.data();
  }
};

/// Operations that became ready together, in the order in which they did.
class ReadyList {
 public:
  bool empty() const { return head_ == nullptr; }
  const Operation* front() const { return head_; }
  void push(Operation& operation) {
    operation.next_ready = nullptr;
    (tail_ != nullptr ? tail_->next_ready : head_) = &operation;
    tail_ = &operation;
  }
  /// The first one, taken out; null if there is none.
  Operation* pop() {
    Operation* first = head_;
    if (first != nullptr) {
      head_ = first->next_ready;
      if (head_ == nullptr) tail_ = nullptr;
    }
    return first;
  }

 private:
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
};

/// Takes ready operations of one (device, lane) and sees to it that they run.
class LaneQueue {
 public:
  virtual ~LaneQueue() = default;
  /// True if operations are issued to a stream, whose work waits for other streams by tokens.
  virtual bool is_stream() const = 0;
  /// Queues the operations without blocking on any other operation.
  virtual void submit(ReadyList operations) = 0;
};

}  // namespace heddle::detail
