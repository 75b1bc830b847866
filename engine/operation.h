#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/access.h"
#include "engine/base/sync.h"
#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/operation_extras.h"
#include "engine/ready_node.h"

namespace heddle::detail {

class GraphRun;
class LaneQueue;

/// Whether somebody waits for the end of an operation.
enum class Awaited : std::uint8_t {
  kNo,
  kByNext,  ///< only by uses of later runs in the only queue, which can wait while this one goes on
  kYes,
  kUrgently,  ///< a thread does, or an operation of higher priority
};

/// The atomics of a model checker are larger.
constexpr std::size_t kOperationBytes = sizeof(base::Atomic<bool>) == sizeof(bool) ? 256 : 4096;

/// An operation from its push to its end; then it is used for another one.
///
/// Who may touch what: the Ledger's lock guards what it says; the queue's lock the ReadyNode; the
/// thread that runs the operation owns the rest, but for what is atomic.
///
/// Four lines, of which the first two are all that a worker needs of an operation that just runs
/// and succeeds, so only these move between caches: the rest stays with who takes in and ends. The
/// first is also all that is touched of an operation when one that it waited for ends.
struct alignas(kOperationBytes) Operation : ReadyNode {
  static constexpr std::size_t kInlineAccesses = 4;

  /// Fixed by the push. Above them lie its kind and its lane.
  enum Flag : std::uint16_t {
    kOverwrites = 1U << 0U,
    kBrief = 1U << 1U,
    kAsync = 1U << 2U,
    kOnStream = 1U << 3U,  ///< `queue` issues to a stream
    /// Released when what it waits for is issued, not only when that is done.
    kFollowsIssued = 1U << 4U,
    kNamed = 1U << 5U,
    kManyAccesses = 1U << 6U,
    kNoQueue = 1U << 7U,      ///< has no queue: run by whoever makes it ready
    kCancellable = 1U << 8U,  ///< it is of a group
    kFreesEarly = 1U << 9U,   ///< gives a block back to a device that frees early
  };
  /// Set on the way by who runs it, and before that by who makes it ready.
  enum Mark : std::uint8_t {
    kPoisoned = 1U << 0U,        ///< `failure` is why it is skipped
    kThrew = 1U << 1U,           ///< `failure` is what it has thrown
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

  /// What a run of a recording does with a variable.
  struct Use {
    GraphRun* run = nullptr;
    std::uint32_t number = 0;    ///< in it
    std::uint32_t versions = 0;  ///< how many of its operations mutate the variable
  };

  Operation() noexcept : task() {}
  ~Operation() {
    if (kind() != Submission::Kind::kUse) task.~Task();
  }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  Outcome outcome = Outcome::kCompleted;
  base::Atomic<Phase> phase{Phase::kUnused};    ///< for who looks on
  base::Atomic<Awaited> awaited{Awaited::kNo};  ///< written under the lock
  std::uint64_t generation = 0;                 ///< which waits for everything cover it
  Device device;
  LaneQueue* queue = nullptr;  ///< where it runs; null if kNoQueue
  std::unique_ptr<OperationExtras> extras;
  std::uint32_t blockers = 0;  ///< pairs of its accesses and what they wait for; under the lock
  std::uint16_t flags = 0;
  std::uint8_t marks = 0;
  std::uint8_t inline_count = 0;  ///< of inline_accesses, those in use

  union {
    Task task;
    Use use;  ///< of kind kUse
  };
  /// Before it runs, the poison that it has met; then what it has thrown; once it has ended, what
  /// its variables carry: null if it has completed.
  FailurePtr failure;

  std::array<Access, kInlineAccesses> inline_accesses;

  /// The lines that a worker reads and writes.
  static constexpr std::size_t kFirstLine = 0;
  static constexpr std::size_t kTaskLine = 1;
  /// The last line of an operation with one access or two.
  static constexpr std::size_t kAccessLine = 2;

  static constexpr std::uint16_t flags_of(Submission::Kind kind, Lane lane) {
    return static_cast<std::uint16_t>((static_cast<unsigned>(kind) << kKindShift) |
                                      (static_cast<unsigned>(lane) << kLaneShift));
  }
  Submission::Kind kind() const {
    return static_cast<Submission::Kind>((flags >> kKindShift) & kKindMask);
  }
  static Lane lane_of(std::uint16_t flags) {
    return static_cast<Lane>((flags >> kLaneShift) & kLaneMask);
  }
  Lane lane() const { return lane_of(flags); }
  bool is(Flag flag) const { return (flags & flag) != 0; }
  bool has(Mark mark) const { return (marks & mark) != 0; }
  void set(Mark mark) { marks = static_cast<std::uint8_t>(marks | mark); }
  /// It just runs, or has run: nothing else about it needs a look.
  bool is_plain() const { return (flags & (kAsync | kOnStream | kCancellable)) == 0 && marks == 0; }
  void clear(Mark mark) { marks = static_cast<std::uint8_t>(marks & ~mark); }
  /// The callable has thrown, or its destructor. Counts if the operation has met no poison, and
  /// has not thrown before.
  void keep_thrown(std::exception_ptr error) noexcept {
    if (failure != nullptr) return;
    failure = failed(sequence, name(), device, std::move(error));
    set(kThrew);
  }
  /// Of what it reads or mutates; null is none. Returns what that takes the place of.
  FailurePtr meet(FailurePtr poison) {
    if (poison == nullptr) return nullptr;
    set(kPoisoned);
    return std::exchange(failure, std::move(poison));
  }
  /// What every push sets.
  void begin(int with_priority, Device where, std::uint16_t with_flags, LaneQueue* in) {
    set_priority(with_priority);
    device = where;
    flags = with_flags;
    phase.store(Phase::kPushed, std::memory_order_relaxed);
    awaited.store(Awaited::kNo, std::memory_order_relaxed);
    marks = 0;
    queue = in;
  }
  /// It stands in the order of its stream.
  bool is_issued() const { return is(kOnStream) && extras->issued; }
  /// What it adds to the versions of the variables that it mutates.
  std::uint32_t versions() const {
    if (kind() == Submission::Kind::kUse) return use.versions;
    return kind() != Submission::Kind::kClear ? 1 : 0;
  }

  std::uint32_t access_count() const {
    return is(kManyAccesses) ? extras->access_count : inline_count;
  }
  void set_access_count(std::uint32_t count) {
    if (is(kManyAccesses)) {
      extras->access_count = count;
    } else {
      inline_count = static_cast<std::uint8_t>(count);
    }
  }
  Access& access(std::uint32_t i) {
    return is(kManyAccesses) ? extras->accesses[i] : inline_accesses[i];
  }
  const Access& access(std::uint32_t i) const {
    return is(kManyAccesses) ? extras->accesses[i] : inline_accesses[i];
  }
  /// Calls `visit` for each of its accesses.
  template <class Visit>
  void for_each_access(Visit&& visit) {
    std::size_t size = sizeof(Access);
    std::uint32_t left = inline_count;
    auto* place = reinterpret_cast<std::byte*>(inline_accesses.data());  // NOLINT: of either type
    if (is(kManyAccesses)) {
      size = sizeof(FarAccess);
      left = extras->access_count;
      place = reinterpret_cast<std::byte*>(extras->accesses.get());  // NOLINT
    }
    for (; left != 0; --left, place += size) visit(*reinterpret_cast<Access*>(place));  // NOLINT
  }
  template <class Visit>
  void for_each_access(Visit&& visit) const {
    const_cast<Operation*>(this)->for_each_access([&](const Access& access) { visit(access); });
  }
  std::string_view name() const {
    return is(kNamed) ? std::string_view(extras->name) : std::string_view();
  }

 private:
  static constexpr unsigned kLaneShift = 10;
  static constexpr unsigned kLaneMask = 7;
  static constexpr unsigned kKindShift = 13;
  static constexpr unsigned kKindMask = 3;
};
static_assert(sizeof(Operation) == kOperationBytes);

inline Operation& Access::operation() const {
  if ((var_ & kFar) != 0) return *static_cast<const FarAccess*>(this)->owner;
  const auto address = reinterpret_cast<std::uintptr_t>(this) & ~(alignof(Operation) - 1);
  return *reinterpret_cast<Operation*>(address);  // NOLINT: it lies in its operation
}

}  // namespace heddle::detail
