#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>

#include "engine/access.h"
#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/model_op.h"
#include "engine/op_name.h"
#include "engine/ready_node.h"

namespace heddle::detail {

class GraphRun;
class LaneQueue;

/// Whether somebody waits for the end of an operation.
enum class Awaited : std::uint8_t {
  kNo,
  kYes,
  kUrgently,  ///< a thread does, or an operation of higher priority
};

/// What only some operations have.
struct OperationExtras {
  AsyncTask async_task;
  base::Atomic<int> parts{0};  ///< of an asynchronous operation: callable, completion
  std::exception_ptr failed;   ///< by the Completion
  device::Token token;         ///< once issued to a stream
  CancelToken cancel;          ///< if kCancellable
  OpName name;
  std::unique_ptr<Access[]> accesses;  ///< of an operation with more than kInlineAccesses
  std::size_t capacity = 0;            ///< of `accesses`

  // If traced.
  std::int64_t pushed_at = 0;
  std::int64_t ready_at = 0;
  std::int64_t issued_at = 0;
  std::int64_t started_at = 0;
  ModelCost cost;
};

/// An operation from its push to its end; then it is used for another one.
///
/// Who may touch what: the Ledger's lock guards what it says; the queue's lock the ReadyNode; the
/// thread that runs the operation owns the rest, but for what is atomic.
///
/// The first two lines are all that a worker needs of an operation that just runs and succeeds, so
/// only these move between caches: the rest stays with the threads that push. The first is also all
/// that is touched of an operation when one that it waited for ends.
struct alignas(64) Operation : ReadyNode {
  static constexpr std::size_t kInlineAccesses = 4;

  /// Fixed by the push.
  enum Flag : std::uint16_t {
    kOverwrites = 1U << 0U,
    kBrief = 1U << 1U,
    kAsync = 1U << 2U,
    kOnStream = 1U << 3U,  ///< `queue` issues to a stream
    /// Released when what it waits for is issued, not only when that is done.
    kFollowsIssued = 1U << 4U,
    kNamed = 1U << 5U,
    kManyAccesses = 1U << 6U,
    kInline = 1U << 7U,       ///< has no queue: run by whoever makes it ready
    kCancellable = 1U << 8U,  ///< it is of a group
  };
  /// Set on the way by who runs it, and before that by who makes it ready.
  enum Mark : std::uint8_t {
    kPoisoned = 1U << 0U,        ///< `failure` is set
    kThrew = 1U << 1U,           ///< `thrown` is set
    kCancelled = 1U << 2U,       ///< skipped because of kCancel
    kGroupCancelled = 1U << 3U,  ///< skipped because of its CancelSource
  };
  enum class Phase : std::uint8_t {
    kUnused,
    kPushed,
    kRunning,
    kWaitingForMemory,
    kReturned,
    kGranted,  ///< the use of a run that may go on
  };

  std::uint64_t generation = 0;  ///< which waits for everything cover it
  Device device;
  std::uint16_t flags = 0;
  Lane lane = Lane::kCompute;
  Submission::Kind kind = Submission::Kind::kRun;
  Outcome outcome = Outcome::kCompleted;
  base::Atomic<Phase> phase{Phase::kUnused};    ///< for who looks on
  base::Atomic<Awaited> awaited{Awaited::kNo};  ///< written under the lock
  std::uint8_t marks = 0;
  std::uint32_t blockers = 0;  ///< pairs of its accesses and what they wait for; under the lock
  std::uint32_t access_count = 0;
  std::uint32_t versions = 0;  ///< what it adds to those of the variables that it mutates

  Task task;

  LaneQueue* queue = nullptr;  ///< where it runs; null if kInline
  std::unique_ptr<OperationExtras> extras;
  std::array<Access, kInlineAccesses> inline_accesses;

  // Not touched where nothing goes wrong and no stream is involved; unset while it is unused.
  std::exception_ptr thrown;  ///< by the callable
  /// Before it runs, the poison that it has met; once it has ended, what its variables carry: null
  /// if it has completed.
  FailurePtr failure;
  GraphRun* run = nullptr;   ///< of what is a use
  std::uint32_t use = 0;     ///< in it
  bool issued = false;       ///< it stands in the order of its stream; under the lock
  bool ended_early = false;  ///< its stream was done with it before it was issued; under the lock

  /// The lines that a worker reads and writes.
  static constexpr std::size_t kFirstLine = 0;
  static constexpr std::size_t kTaskLine = 1;
  /// The last line of an operation with one access.
  static constexpr std::size_t kAccessLine = 2;

  bool is(Flag flag) const { return (flags & flag) != 0; }
  bool has(Mark mark) const { return (marks & mark) != 0; }
  void set(Mark mark) { marks = static_cast<std::uint8_t>(marks | mark); }
  /// It just runs, or has run: nothing else about it needs a look.
  bool is_plain() const { return (flags & (kAsync | kOnStream | kCancellable)) == 0 && marks == 0; }
  void clear(Mark mark) { marks = static_cast<std::uint8_t>(marks & ~mark); }
  void keep_thrown(std::exception_ptr error) {
    if (has(kThrew)) return;  // only the first counts
    thrown = std::move(error);
    set(kThrew);
  }
  /// Of what it reads or mutates; null is none.
  void meet(FailurePtr poison) {
    if (poison == nullptr) return;
    failure = std::move(poison);
    set(kPoisoned);
  }

  Access* accesses() { return is(kManyAccesses) ? extras->accesses.get() : inline_accesses.data(); }
  const Access* accesses() const {
    return is(kManyAccesses) ? extras->accesses.get() : inline_accesses.data();
  }
  std::string_view name() const {
    return is(kNamed) ? std::string_view(extras->name) : std::string_view();
  }
};

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
      if (op->queue != &queue) continue;
      if (before != nullptr) {
        before->newer = op->newer;
      } else {
        head_ = after(*op);
      }
      if (tail_ == op) tail_ = before;
      return op;
    }
    return nullptr;
  }

 private:
  static Operation* after(const Operation& op) { return static_cast<Operation*>(op.newer); }

  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
};

/// Takes ready operations of one (device, lane) and sees to it that they run.
class LaneQueue {
 public:
  explicit LaneQueue(bool stream) : is_stream_(stream) {}
  virtual ~LaneQueue() = default;
  LaneQueue(const LaneQueue&) = delete;
  LaneQueue& operator=(const LaneQueue&) = delete;
  /// True if operations are issued to a stream, whose work waits for other streams by tokens.
  bool is_stream() const { return is_stream_; }
  /// Queues the operations without blocking on any other operation.
  virtual void submit(ReadyList operations) = 0;

 private:
  const bool is_stream_;
};

}  // namespace heddle::detail
