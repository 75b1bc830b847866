#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <ostream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/plain_engine.h"
#include "engine/ready_queue.h"

namespace heddle::detail {

struct ExploreOperation;

/// The queue of a (device, lane) that one worker or stream would serve.
struct ExploreLane {
  ReadyQueue ready;
  bool is_busy = false;  ///< a callable of it runs
};

struct ExploreVariable;

/// One operation's use of one variable.
struct ExploreAccess {
  ExploreOperation* operation = nullptr;
  VarState* var = nullptr;
  ExploreVariable* variable = nullptr;  ///< the same, in the schedule
  bool write = false;
  bool granted = false;
  ExploreAccess* older = nullptr;  ///< of the same variable
  ExploreAccess* newer = nullptr;
  ExploreAccess* newer_write = nullptr;  ///< of a write
};

/// The accesses of a variable that have not ended, in sequence order.
struct ExploreVariable {
  ExploreAccess* oldest = nullptr;
  ExploreAccess* newest = nullptr;
  ExploreAccess* oldest_write = nullptr;
  ExploreAccess* newest_write = nullptr;

  bool empty() const { return oldest == nullptr; }
  void append(ExploreAccess& access) noexcept;
  void remove(ExploreAccess& access) noexcept;
};

/// An operation from its push to its end.
struct ExploreOperation : ReadyNode {
  explicit ExploreOperation(PlainOperation&& submitted) : pushed(std::move(submitted)) {}
  /// Which operation it waits for, or one of them: not_granted is not 0.
  void write_blocker(std::ostream& out) const;

  PlainOperation pushed;
  std::uint64_t generation = 0;  ///< which wait_for_all() covers it

  // Of the schedule.
  std::vector<ExploreAccess> accesses;
  std::size_t not_granted = 0;
  ExploreLane* lane = nullptr;  ///< null: it may run beside all others

  // How it ended.
  FailurePtr skipped;
  std::exception_ptr failed;  ///< by the completion
  bool is_running = false;    ///< its callable
  bool callable_ended = false;
  bool completed = false;  ///< the completion came
};

/// The order of the explorer: which operations wait for which, which are ready, and which of these
/// runs next.
///
/// Per variable it keeps the accesses of the operations that have not ended, in sequence order. A
/// write is granted when it stands first, a read when only reads stand before it, and an operation
/// is ready when all its accesses are granted. That is all there is to dependencies.
///
/// choose() draws from the candidates, all with the same probability:
///  - every ready operation of the CPU's compute lane if that has several workers
///    (EngineOptions::cpu_workers, which is not 1): any of them may be held up for any time by the
///    worker that took it, while others go ahead, so each order of them is legal;
///  - of every other (device, lane), which has one worker or one stream, the operation that its
///    queue gives out next: by priority, which what it waits for inherits, then in push order, and
///    after 1,024 overtakings in any case. No other order of these would be legal, as all that is
///    pushed before a wait is there to be compared. The lane has no candidate while a callable of
///    it runs;
///  - every ready operation without a lane: clear_error, and a deletion that has nothing to run or
///    is brief.
/// So each order that the contract allows has a chance, whatever the seed: for operations in
/// different lanes, or of a compute lane with several workers, each order that keeps their
/// conflicts. The draws, and so the schedule, depend on the seed and on the order of the calls
/// below only; never on time, addresses or the number of CPUs.
///
/// What needs memory is in prepare(), so that a push that finds none leaves nothing behind.
///
/// Thread safety: none; guarded by its owner's lock.
///
/// Invariants:
///  - The granted accesses of a variable are the first ones of its list: one write, or all reads
///    before the first write. So if the first one is granted, no other one can be granted now.
///  - A variable has an entry in variables_ if it has pending accesses, or is of an operation that
///    is prepared and neither pushed nor forgotten.
///  - unordered_ has room for all pending operations.
class ExploreSchedule {
 public:
  explicit ExploreSchedule(const EngineOptions& options);

  /// Makes room for `operation`, which is described, and for what it needs in the schedule, where
  /// `pending` operations are or will be. Throws std::bad_alloc: then the caller has to forget()
  /// it.
  void prepare(ExploreOperation& operation, bool has_callable, std::size_t pending);
  /// A prepared operation is not pushed.
  void forget(const ExploreOperation& operation) noexcept;
  /// Puts a prepared operation, which has its sequence number, behind what it conflicts with.
  void push(ExploreOperation& operation) noexcept;
  /// Takes one of the ready operations; null if there is none.
  ExploreOperation* choose();
  /// The callable of a chosen operation has returned.
  void free_lane(ExploreOperation& operation);
  /// `operation` has ended: what waited for it may become ready.
  void end(ExploreOperation& operation) noexcept;

  /// True if all writes of `var`, and with `reads_too` all reads, up to number `last` have ended.
  bool is_settled(VarState* var, bool reads_too, std::uint64_t last) const;
  /// The pending operation that writes `var` last, or null.
  const ExploreOperation* last_writer(VarState* var) const;

 private:
  void grant(ExploreAccess& access) noexcept;
  void make_ready(ExploreOperation& operation) noexcept;
  /// To what `operation` waits for, as far as there is credit for (see Tracker).
  void lend_priority(ExploreOperation& operation) noexcept;
  void raise_before(const ExploreAccess& access, int priority, ReadyNode*& blocked) noexcept;
  static void raise(ExploreOperation& operation, int priority) noexcept;
  ExploreLane* find_lane(const PlainOperation& operation, bool has_callable);
  std::uint64_t draw();

  const bool many_compute_;  ///< workers of the CPU's compute lane
  std::uint64_t random_;
  // Never iterated: addresses have no order.
  std::unordered_map<VarState*, ExploreVariable> variables_;
  std::map<std::pair<Device, Lane>, ExploreLane> lanes_;
  std::vector<ExploreOperation*> unordered_;  ///< ready, without a lane
  std::uint64_t credit_ = 0;                  ///< steps that lend_priority() may take
};

}  // namespace heddle::detail
