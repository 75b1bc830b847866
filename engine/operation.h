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
#include "engine/op_name.h"
#include "engine/ready_node.h"

namespace heddle::detail {

class LaneQueue;
struct Generation;

/// An operation from its push to its end; then it is used for another one.
///
/// Who may touch what: the pushing thread everything until Tracker::push; then the locks of its
/// variables guard the accesses, the queue's lock the ReadyNode, and the thread that runs the
/// operation owns the rest, but for what is atomic.
struct alignas(64) Operation : ReadyNode {
  static constexpr std::size_t kInlineAccesses = 4;
  /// What every operation uses lies together, at the front.
  static constexpr std::size_t kHotBytes = 256;

  enum class Stage : std::uint8_t {
    kPushed,
    kIssuing,     ///< what may wait for it on a stream is being released
    kIssued,      ///< it stands in the order of its stream
    kEndedEarly,  ///< its stream was done with it before it counted as issued
  };

  // What was pushed.
  LaneQueue* queue = nullptr;  ///< where it runs; null: inline, by whoever makes it ready
  Device device;
  Lane lane = Lane::kCompute;
  Submission::Kind kind = Submission::Kind::kRun;
  bool overwrites = false;
  bool brief = false;
  bool is_async = false;
  bool on_stream = false;  ///< `queue` issues to a stream
  /// Released when what it waits for is issued, not only when that is done.
  bool follows_issued = false;
  bool cancelled = false;   ///< skipped because of kCancel
  bool met_poison = false;  ///< skipped because of poison
  Task task;

  // Dependencies.
  std::array<Access, kInlineAccesses> inline_accesses;
  Operation* next_ready = nullptr;
  Generation* generation = nullptr;
  std::uint32_t access_count = 0;
  /// What holds it back: its accesses that are not granted, and one while it is being pushed.
  std::atomic<std::uint32_t> not_granted{0};
  std::atomic<Stage> stage{Stage::kPushed};
  std::unique_ptr<Access[]> more_accesses;  ///< used instead if there are more
  std::size_t more_capacity = 0;

  // Of few: null and 0 in others.
  std::exception_ptr thrown;  ///< by the callable
  std::exception_ptr failed;  ///< by the Completion
  device::Token token;        ///< once issued
  AsyncTask async_task;
  std::atomic<int> parts{0};  ///< of an asynchronous operation: callable, completion
  OpName name;

  // If traced.
  std::int64_t pushed_at = 0;
  std::int64_t ready_at = 0;
  std::int64_t issued_at = 0;
  std::int64_t started_at = 0;

  /// Prepares an unused operation for `count` accesses. Throws if there is no memory for them.
  void begin(std::size_t count) {
    if (count > kInlineAccesses && count > more_capacity) {
      more_accesses = std::make_unique<Access[]>(count);
      more_capacity = count;
    }
    in_more_accesses_ = count > kInlineAccesses;
    stage.store(Stage::kPushed, std::memory_order_relaxed);
    cancelled = met_poison = false;
  }

  Access* accesses() { return in_more_accesses_ ? more_accesses.get() : inline_accesses.data(); }
  const Access* accesses() const {
    return in_more_accesses_ ? more_accesses.get() : inline_accesses.data();
  }

 private:
  bool in_more_accesses_ = false;
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

  /// The first one for `queue`, taken out; null if there is none.
  Operation* take_first_of(const LaneQueue& queue) {
    Operation* before = nullptr;
    for (Operation* op = head_; op != nullptr; before = op, op = op->next_ready) {
      if (op->queue != &queue) continue;
      (before != nullptr ? before->next_ready : head_) = op->next_ready;
      if (tail_ == op) tail_ = before;
      return op;
    }
    return nullptr;
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
