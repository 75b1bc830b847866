#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/graph_item.h"
#include "engine/graph_step.h"
#include "engine/lane_queue.h"
#include "engine/ready_ops.h"
#include "engine/recorded_graph.h"
#include "engine/recorded_program.h"
#include "engine/run_priority.h"
#include "engine/stand_still.h"

namespace heddle::detail {

class Ledger;
class WorkerPool;

/// One run of a recording whose graph is known, until it has ended: which of its operations are
/// ready, in one small book of its own that the workers which take part share.
///
/// Thread safety: every member may be called from any thread, but for what is said below.
///
/// Invariants (the fields under lock_):
///  - What an item has is taken from ready_, in order with its row; who leaves the order closes it.
///    What its worker has run of that is counted by then, or when somebody asks: count_rows().
///  - While something is ready an item is used: it is in the pool's hands, or its worker comes back
///    for more. Who makes something ready looks, before it gives the lock back, whether a worker
///    sleeps; who goes to sleep says so and then asks is_ready(): one sees the other.
///  - With one worker who grants a use leaves the order if the next operation is not ready. It does
///    not if another grant is on its way, as who brings the last one looks again, or if the worker
///    is at a run that goes first: it looks here afterwards, under the lock, as does who goes to
///    sleep or looks around.
///  - Where there are several, small operations are in order, too, as one worker is faster then.
///    As long as that may hold something back it counts as ready: one that has nothing else to do
///    does not go to sleep, but naps, and gives up the order when it sees that nothing goes on in
///    its pool, or for long nothing in the run. So does one that would go on with what is later,
///    while the next operation of the run waits.
///  - What an operation leaves in poison_ for a variable belongs to the operations of that variable
///    in turn, as the variable itself does.
///  - It lives until its last use ended in the ledger, no item is used, and end_push() has come.
class GraphRun {
 public:
  /// Takes the run's reservations, and holds the program.
  GraphRun(ProgramRun& run, WorkerPool& pool);
  ~GraphRun();
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  // Before the first grant, with the ledger's lock.
  void begin(std::uint64_t first, std::uint64_t generation, bool is_alone);
  /// Makes an unused operation of the ledger the run's use with this number.
  void fill(Operation& op, std::uint32_t use);

  const RecordedGraph& graph() const { return graph_; }
  std::uint64_t generation() const { return generation_; }
  std::size_t size() const { return size_; }
  WorkerPool& pool() const { return pool_; }
  /// All that was pushed before it went to its own queue. With the ledger's lock.
  bool is_alone() const { return is_alone_; }
  const RecordedOp& op(std::uint32_t i) const { return program_.op(i); }
  /// op(0) says device and lane of it, and it has no name.
  bool is_simple(std::uint32_t i) const { return graph_.simple[i] != 0; }
  std::uint64_t sequence(std::uint32_t i) const { return first_ + i; }

  /// What these uses waited for has ended; what each meets is its failure. Takes them off the list.
  void grant(ReadyList& uses);
  /// By the pusher, after the last use. True: all has ended, and the caller has to delete the run.
  bool end_push();

  // By the worker that has an item.
  /// Gives the item the ready operation that goes first, if that goes before the one that it has,
  /// or it has none, and its row: the worker is going to run them. False if it has none.
  bool choose(GraphItem& item);
  /// The item is going to stand in a queue, with its first operation.
  void put_off(GraphItem& item);
  void call(std::uint32_t i, RunContext& in) { program_.call(i, in, reserved_, is_simple(i)); }
  void fetch_ahead(std::uint32_t i) const { program_.fetch_ahead(i, is_simple(i)); }
  using Step = GraphStep;
  /// The item's operation `i` has ended; those before it in the row have completed, and those
  /// behind it are given back. It gets the ready one that goes first, with its row, or kNone.
  Step end(GraphItem& item, std::uint32_t i, Outcome outcome);
  void let_go();
  /// How long an operation of it took. True if others should take part therefore, and leave_order()
  /// has been called.
  bool measured(bool is_fine);
  /// The last use has ended in the ledger.
  void end_run();
  enum class Left : std::uint8_t {
    kNot,   ///< something has become ready, which the item now has
    kLeft,  ///< the item is not used any more
    kLast,  ///< and the caller has to delete the run
  };
  /// All uses that have ended are ended in the ledger.
  Left leave(GraphItem& item);

  // Of what fails.
  bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }
  /// The poison that operation i meets, or null.
  FailurePtr inherited(std::uint32_t i) const;
  /// What operation i leaves in its variables; null: it has completed. What these carried before is
  /// for `ledger` to drop.
  void carry(std::uint32_t i, const FailurePtr& failure, Ledger& ledger);
  /// What is left when the last use has ended.
  std::span<FailurePtr> poison() { return poison_; }

  // By a worker that looks for work.
  /// An item for another worker, or null: its operation goes before `other`, which may be none.
  GraphItem* join(const ReadyPlace& other);
  bool is_ready();
  /// In order, in a pool of several workers, so that something may be ready that no one sees.
  bool is_held_in_order();
  /// No more: several workers may take part. True: what is posted has to be collected then. If it
  /// `is_slow`, as an operation keeps others from running, fewer later runs begin in order.
  bool leave_order(bool is_slow);
  /// True if at this look, as at those before, an operation of it has been running for long, or
  /// the next one has been waiting for longer.
  bool is_stuck(std::int64_t now);
  /// The worker that posts the end of a use may leave it to others to take note of it.
  bool keeps_order() const { return keeps_order_.load(); }

  /// For WorkerPool: `moved` gets each item that is raised and may be queued, and what it had.
  template <class Moved>
  void raise_items(Moved&& moved);
  /// The item goes before what it would go behind as it was pushed.
  bool is_lent(const GraphItem& item) const { return item.priority() != priority_.pushed(); }

  // For who looks on.
  /// Operations that have ended this way; may be a little out of date while some have not.
  std::uint64_t ended(Outcome outcome) const {
    return ended_[static_cast<std::size_t>(outcome)].load(std::memory_order_relaxed);
  }
  std::uint64_t ended() const;
  std::uint64_t ended_writes(std::uint32_t use);  ///< that mutate the variable of this use
  /// Calls `visit` with the numbers of the operations that workers are at.
  template <class Visit>
  void visit_running(Visit&& visit);

  // For the ledger, under its lock.
  /// Operations up to `last` are as urgent as that from now on.
  void lend(int priority, std::uint32_t last);
  /// Calls `visit` for each use that has not ended and whose operations may have to run before use
  /// `number` has ended. Returns the last operation of all of them; kNone if all have ended.
  template <class Visit>
  std::uint32_t visit_needed(std::uint32_t number, Visit&& visit);
  /// Counts what workers have run of their rows, too.
  void count_rows();
  /// grant() will be called for another use.
  void expect_grant() {
    grants_.store(grants_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::size_t uses_in_ledger = 0;  ///< that have not ended there
  std::size_t given_back = 0;      ///< places

 private:
  GraphItem* use_item();
  void set_place(GraphItem& item);  ///< in a queue
  bool take_next(GraphItem& item);  ///< as choose()
  void reach_all();
  /// Of each row others may have what its worker has not begun.
  void close_rows();
  void count(Outcome outcome, std::uint32_t more);
  /// The item's row is known to have completed up to `at`.
  void reach(GraphItem& item, std::uint32_t at);
  /// Where the first operation stands that is ready; in order, that may become ready.
  ReadyPlace first_place() {
    return {.sequence = sequence(ready_.first()), .priority = priority_.of(ready_.first())};
  }
  /// Before its first grant it has no sequence numbers, either.
  bool holds_back() const { return is_shared_ && granted_ != 0 && ready_.holds_back(); }
  bool wants_help() const;
  bool outranks_queued();  ///< something is ready that is more urgent than all items in queues
  bool can_wait(const ReadyPlace& other);
  /// Out of order if the next operation does not become ready at once.
  void leave_order_if_stuck();
  /// The same where there is one worker, unless that is at a run that goes first.
  void keep_going_if_first();
  /// An item to submit if something is ready and none is used, or null.
  GraphItem* item_for_ready() { return !ready_.empty() && used_items_ == 0 ? use_item() : nullptr; }
  /// Lets come what `item` needs, to end, and to run what probably goes next.
  void fetch_behind(const GraphItem& item);

  const std::size_t size_;
  RecordedProgram& program_;
  const RecordedGraph& graph_;
  WorkerPool& pool_;
  const bool is_shared_;  ///< there are several workers
  bool is_alone_ = false;
  bool holds_program_ = true;
  const std::vector<Reserved> reserved_;
  std::uint64_t first_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<Operation*> uses_;
  std::vector<FailurePtr> poison_;  ///< by number of the variable
  base::Atomic<bool> has_failed_{false};
  base::Atomic<bool> keeps_order_;         ///< written under lock_
  base::Atomic<std::uint32_t> grants_{0};  ///< expected, or here; written under the ledger's lock

  alignas(64) base::SpinLock lock_;  ///< guards what follows
  bool is_over_ = false;
  std::uint32_t granted_ = 0;  ///< uses
  std::size_t used_items_ = 0;
  StandStill stands_still_;
  std::size_t uses_left_;
  ReadyOps ready_;
  std::vector<std::uint32_t> ends_left_;                ///< by use
  std::array<base::Atomic<std::uint64_t>, 4> ended_{};  ///< by Outcome; written under the lock
  RunPriority priority_;
  std::vector<GraphItem> items_;
};

}  // namespace heddle::detail
