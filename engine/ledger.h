#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/asked_once.h"
#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"
#include "engine/disposal.h"
#include "engine/generations.h"
#include "engine/guest.h"
#include "engine/intake.h"
#include "engine/mailbox.h"
#include "engine/memory_wait.h"
#include "engine/operation_slabs.h"
#include "engine/stretches.h"
#include "engine/tracker.h"

namespace heddle::detail {

class OperationScope;
struct Block;

/// The book that an engine keeps of its operations: one lock, and everything that it guards.
///
/// All dependency work is done under this lock, with plain loads and stores, and by few threads.
/// Who pushes a plain operation leaves it in the Intake; a worker that has ended one posts it in
/// its mailbox; either is one atomic operation, on lines that only pushers write, or only it. An
/// idle worker takes note of many of both at a time; so the lines of variables and operations stay
/// in one cache. Only for what somebody waits for the lock is taken at once.
///
/// Thread safety: every member may be called from any thread. How long the lock is held depends on
/// the size of one operation, and of what is in the mailboxes or in a Stretch; but for who opens a
/// block, looks at all that is pending (the watchdog, who lacks memory) or at all runs (if full).
///
/// Invariants:
///  - An operation is unused, being filled by who holds the lock, kept for a Stretch, pending, or
///    posted. While there is a stretch nothing that has a place names its variables.
///  - What is asked of a variable is asked when all that had arrived has been taken in; what does
///    not just run on a worker is pushed then, too.
///  - What is posted and not taken note of is waited for by nobody, or by uses of later runs, until
///    the run that posted it is at an end or leaves its order (see GraphRun), or only for a moment,
///    when every worker is busy (see WorkerPool): who begins to wait for an operation marks it as
///    awaited (or announces a generation, or stands in the line of blocked pushers) and then looks
///    into the mailboxes; who posts looks for such a mark afterwards, so one sees the other.
///  - A worker looks into its mailbox before it sleeps, and before it runs what an announced
///    generation does not cover, so nothing stays posted longer than other operations of the
///    same wait take.
///  - While a block is open nothing else is pushed, so its operations have numbers that follow each
///    other. Between its pieces the pusher lets go of the lock, but runs nothing of the user's.
///  - Operations that conflict are never posted together, as the later one starts when the
///    earlier one has been taken note of; so the order among mailboxes does not matter. What
///    runs on a stream, where that does not hold, is never posted.
class Ledger {
 public:
  Ledger(const EngineCore& engine, std::size_t max_pending);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Mailboxes live as long as the ledger. Throws std::bad_alloc.
  Mailbox& new_mailbox();

  // In all of these the caller dispatches what `ready` gets, before it blocks.
  /// Gives the submission a place in the program and fills an operation with it. Returns its
  /// sequence number, or 0, with nothing changed, if there is no place among the pending ones and
  /// the submission is neither forced nor admitted. Throws EngineStopped, std::invalid_argument.
  std::uint64_t push(Submission& submission, const Route& route, ReadyList& ready);
  void check(const Submission& submission);  ///< throws what push() would for its variables
  enum class Pushed : std::uint8_t { kNone, kSome, kAll };
  /// Pushes or leaves the next operations of `block`; the first call opens it, the last one closes
  /// it. Call it until all are pushed, and meanwhile run nothing. None, with nothing changed, if
  /// there is no place as for push(). The first call throws as push() does, with nothing pushed.
  Pushed push_some(Block& block, ReadyList& ready);
  /// Takes a place among the pending operations: if there is one and pushes go on, or anyway.
  bool try_admit(ReadyList& ready, bool forced);
  void give_back_place();

  /// Whether somebody waits for the operation, so that collect() must be called.
  Awaited post(Mailbox& mailbox, Operation& op, ReadyList& ready);
  /// The same for the use of a run, which takes no place among the pending operations.
  Awaited post_use(Mailbox& mailbox, Operation& op, ReadyList& ready);
  void collect(ReadyList& ready);  ///< takes note of what is posted
  /// The same, and of so many arrivals at most. Returns how many it were. `hands_on`: what workers
  /// run of that is in their queues before anything that was pushed later. `own` is of who calls.
  std::size_t take_in(ReadyList& ready, std::size_t most = kAll, Mailbox* own = nullptr,
                      bool hands_on = true);
  /// The worker of `queues` with the mailbox `own` takes part in the stretch, if it `joins` others,
  /// or begins one, unless something is to be run first.
  StretchPlace enter_stretch(Queues queues, bool joins, Mailbox& own, ReadyList& ready);
  /// Its last one `has_failed`, or others have dissolved the stretch: then returns that as an
  /// operation, which the worker ends; else null.
  Operation* leave_stretch(Stretch& stretch, std::size_t place, bool has_failed);
  bool has_stretch() const { return stretches_.current() != nullptr; }
  void dissolve_stretch();  ///< as far as it has not begun
  /// As collect(), or leaves it to another thread that is in here: that looks once more. Between
  /// two looks `hand_on` is called for what is ready so far.
  template <class HandOn>
  void collect_or_leave(ReadyList& ready, HandOn&& hand_on) {
    collectors_.ask([&] { collect(ready); }, [&] { hand_on(ready); });
  }
  /// True if collect() must be called before `op` is run.
  bool is_uncovered(std::uint64_t generation) const { return generation >= first_uncovered(); }
  std::uint64_t first_uncovered() const { return generations_.first_uncovered(); }
  bool is_waited_for_all() const { return first_uncovered() != Generations::kNone; }
  /// True if a thread, and not just an operation, waits for others to end.
  bool is_urgent() const {
    return intake_.limit().has_line() || var_waiters_.load() != 0 || is_waited_for_all();
  }
  /// How often a thread has begun to wait for a variable.
  std::uint32_t waits_begun() const { return waits_.load(std::memory_order_relaxed); }
  /// Ends `op` unless another thread has the lock just now.
  bool try_end(Operation& op, ReadyList& ready);
  /// Takes note of what is posted, and ends uses of a run, or none. True if it has ended with them.
  bool end_uses(GraphRun& run, ReadyList& uses, ReadyList& ready);
  /// Ends `op` here and now. Its place stays taken if `keeps_place`.
  void end(Operation& op, ReadyList& ready, bool keeps_place = false);

  // For what runs on streams.
  void tokens_before(const Operation& op, std::vector<device::Token>& tokens);
  /// `op` stands in the order of its stream at `token`. False, and nothing released, if it has run
  /// to its end already: the caller ends it.
  bool issued(Operation& op, device::Token token, ReadyList& ready);
  /// Ends `op`, which its stream is done with, unless it is being issued: then who issues it does.
  void end_on_stream(Operation& op, ReadyList& ready);
  FailurePtr inherited(const Operation& op);
  void drop(FailurePtr failure);  ///< has it destroyed, unless others have it, too
  bool destroy_one();             ///< of what was dropped; false: there is none
  Disposal& disposal() { return disposal_; }

  /// Called inside of the operation.
  MemoryWait begin_memory_wait();
  static void end_memory_wait(const MemoryWait& wait);
  MemoryRelief relief_for(const MemoryWait& wait);

  /// Registers a waiter; false, with its poison set, if there is nothing to wait for. After the
  /// wait end_wait() must be called. After stop_waiters() it is woken at once.
  bool begin_wait(VarState* var, bool reads_too, Waiter& waiter, ReadyList& ready);
  bool begin_wait_for_all(Waiter& waiter, ReadyList& ready);
  void end_wait(bool for_var);
  /// A ready operation that a worker may run and that the waiter waits for, if it is near.
  Wanted needed(const VarState& var, const Waiter& waiter);
  ModelWait model_wait(VarState* var, bool reads_too);  ///< that begins now; null: for everything
  void stop_waiters();  ///< wakes every waiting thread: nothing further will end

  Intake& intake() { return intake_; }
  PendingLimit& limit() { return intake_.limit(); }
  /// Calls `visit` for every operation that has not ended, in no order, under the lock.
  template <class Visit>
  void visit_pending(Visit&& visit) {
    const std::lock_guard lock(lock_);
    operations_.for_each([&](Operation& op) {
      if (op.phase.load(std::memory_order_relaxed) != Operation::Phase::kUnused) visit(op);
    });
  }
  struct Ended {
    ShutdownReport report;        ///< what has not ended counts as abandoned
    std::size_t places = 0;       ///< taken, also for what is just being pushed or ended
    std::uint64_t dropped = 0;    ///< failures, so far
    std::uint64_t destroyed = 0;  ///< of them
  };
  Ended ended(ReadyList& ready);  ///< how the operations have ended so far

  std::uint64_t version(VarState* var, ReadyList& ready);
  std::string describe_writer(VarState* var, ReadyList& ready);

  static constexpr auto kAll = static_cast<std::size_t>(-1);

 private:
  /// Pushes after which the pusher takes note of what is posted: rarely enough to find several.
  static constexpr std::uint32_t kCollectEvery = 64;

  class Turn;

  void check_locked(const Submission& submission) const;
  bool has_place(Submission::Admission admission, const Submission* submission, ReadyList& ready);
  bool open(Block& block, const OperationScope* parent, ReadyList& ready);
  void reserve_operations(const Block& block);
  Tracker::Held place_use(Block& block, Operation& op);
  void make_room(Operation& op, const Submission& submission, bool is_traced) const;
  void fill(Operation& op, Submission& submission, const Route& route);
  /// Gives an unused operation its number and its place. `parent` is what pushes it.
  Tracker::Held place(Operation& op, Submission& submission, const Route& route,
                      const OperationScope* parent);
  void collect_locked(ReadyList& ready);
  std::size_t take_in_locked(ReadyList& ready, std::size_t most = kAll);
  void take_in_all(ReadyList& ready);  ///< what has arrived before the call; may throw
  StretchPlace begin_stretch(Queues queues);
  void dissolve_stretch_locked();
  void place_running(Operation& op, const Arrival& arrival);
  void end_posted(Operation& op, ReadyList& ready);
  void end_locked(Operation& op, ReadyList& ready);
  void end_use(Operation& op, ReadyList& ready);

  const EngineCore& engine_;
  Intake intake_;

  alignas(64) base::SpinLock lock_;  ///< guards what follows
  std::uint32_t pushes_ = 0;
  bool stopped_ = false;
  std::vector<Operation*> block_;  ///< the operations for an open block
  OperationSlabs operations_;
  std::vector<std::unique_ptr<Mailbox>> mailboxes_;
  Tracker tracker_;
  Generations generations_;
  std::array<std::uint64_t, 4> ended_{};  ///< by Outcome
  std::vector<GraphRun*> graph_runs_;     ///< those that have not ended
  Stretches stretches_;
  std::uint64_t destroyed_ = 0;  ///< of what was dropped
  alignas(64) AskedOnce collectors_;
  alignas(64) base::Atomic<int> var_waiters_{0};  ///< written under the lock
  base::Atomic<std::uint32_t> waits_{0};  ///< for a variable, so far; written under the lock
  alignas(64) Disposal disposal_;
};

}  // namespace heddle::detail
