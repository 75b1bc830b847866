#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/base/float_control.h"
#include "engine/base/openmp.h"
#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"
#include "engine/deferred_ends.h"
#include "engine/device/backend.h"
#include "engine/graph_run.h"
#include "engine/guest.h"
#include "engine/guest_seats.h"
#include "engine/idle_workers.h"
#include "engine/inbox.h"
#include "engine/lane_queue.h"
#include "engine/measured_grain.h"
#include "engine/open_runs.h"
#include "engine/pool_group.h"
#include "engine/ready_queue.h"
#include "engine/stream_items.h"
#include "engine/worker.h"

namespace heddle::detail {

class KeptNodes;
class ThreadedEngine;

/// Workers of the CPU that run the operations of one lane, and the work of simulated devices.
///
/// Others leave ready operations in an inbox, with one atomic operation; workers sort it into the
/// queue, or who finds it full. When that is empty a worker takes in what has been pushed meanwhile
/// (see Intake). It takes some along if there are many, and runs the first that it makes ready.
///
/// Thread safety: every member may be called from any thread, stop() once.
///
/// Invariants (the fields under mutex_ but for Worker::batch):
///  - Who puts something into an empty inbox wakes a sleeping worker unless another one is
///    searching, be it awake or just being woken; a searching worker that finds something wakes the
///    next if there is more. A worker that is going to sleep counts itself as sleeping, and not
///    searching, before it looks into the inbox for the last time (all sequentially consistent),
///    so one sees the other: nothing is left in inbox and queue while a worker sleeps and none
///    searches or naps, here or in the PoolGroup. The same goes for pushes to this pool that have
///    arrived (see Arrivals), unless a thread is on Tour, and open_runs_ (see GraphRun).
///  - Where workers are in each other's way (see may_nap()) one that finds another at work naps
///    before it looks for more; so it does while guests are enough (see GuestSeats). Nobody wakes a
///    sleeping worker as long as one naps and one is awake: what that one leaves is found at the
///    end of the nap, but for arrivals beside a Stretch that goes on. A worker naps, too, instead
///    of sleeping, while a run is kept in order for one.
///  - There are as many seats as workers. Who runs something has one: a worker that is not idle, or
///    a guest. A worker that finds none goes to sleep, and nobody wakes one then; a guest that
///    gives its seat back wakes one if there is work.
///  - A node is in the inbox, queue, one batch or KeptNodes, is a guest's, or runs. Out of a batch
///    its worker takes it or, as that may be busy, one that finds nothing else or looks around.
///  - While every worker is busy, ends that others wait for are taken note of some at a time, if no
///    thread waits, no other queue could run what becomes ready, and several workers make the order
///    of equals free. Who defers one says so in deferred_ before it looks whether a worker is idle;
///    an idle one counts itself as searching, or not napping, before it looks there, and a busy one
///    looks before each operation.
class WorkerPool final : public LaneQueue, public device::Executor {
 public:
  /// `spins`: idle workers look for work for a moment before they sleep.
  WorkerPool(ThreadedEngine& engine, PoolGroup& group, int workers, bool spins);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void submit(ReadyList operations) override;
  void put(ReadyNode& node);
  void raise(Operation& operation, int from, int to) override;
  void expect_arrival();  ///< a push for this pool is there: sees to it that it is taken in
  void take_in(Worker* me, bool searching);  ///< some arrivals; null: of a guest
  void reserve() override { items_.reserve(); }
  void execute(const device::Work& work) noexcept override;

  std::size_t size() const { return workers_.size(); }
  // For the runs of recordings.
  void open(GraphRun& run);  ///< idle workers look for ready operations there until it is closed
  bool may_open() const { return open_runs_.may_add(); }
  void close(GraphRun& run);
  void raise_runs();  ///< a priority was lent to one, or what has got one there has become ready
  bool lacks_searcher() const;  ///< nobody searches, a worker sleeps: wake_one() must be called
  /// Of the run that the first worker is at, and looks at others after it; or its sequence is 0.
  ReadyPlace run_of_first() const;
  void wake_one(bool is_for_push = false);  ///< if so, by a thread that pushes

  // For a thread that runs operations instead of a worker: a Guest.
  /// True if they have the same results on the calling thread.
  bool may_have_guest() const { return base::float_control() == float_control_; }
  const base::OpenMp& openmp() const { return openmp_; }
  bool has_free_seat() const { return idle_.count() > guests_.count(); }
  /// The next operation, or null, and the seat is given back, if that is not `wanted` or if there
  /// is no idle worker whose seat the caller could take, or has taken (`has_seat`).
  Operation* take_for_guest(const Wanted& wanted, bool& has_seat);
  void leave_seat();
  /// True if there is more work, none is idle, two are on one CPU, and none is on the caller's.
  bool is_crowded() const;
  /// Asks such workers for a seat, unless another guest does. The caller takes or withdraws it.
  bool ask_for_seat();
  bool has_granted() const { return guests_.has_granted(); }
  void take_granted();
  void withdraw();
  /// Something is in inbox or queue; may miss what is being put.
  bool seems_to_have_work() const { return has_queue_.load() || !inbox_.seems_empty(); }

  // For the threads of a PoolGroup.
  bool work(Worker& me);  ///< until its thread is another worker, or sleeps: true, or is to end
  void stop();  ///< threads come to their end when woken; the queue must be empty and stay so
  void join_group(std::size_t number);
  bool may_stand_in() const { return in_group_.load() && group_.has_others(); }
  unsigned float_control() const { return float_control_; }
  base::SpinLock& mutex() { return mutex_; }
  IdleWorkers& idle() { return idle_; }  ///< guarded by it
  bool is_fine() const { return grain_.are_fine(); }
  bool is_tiny() const { return grain_.is_tiny(); }
  std::uint64_t takes() const { return takes_.load(std::memory_order_relaxed); }
  bool lacks_worker() const;   ///< there seems to be work, a worker sleeps, and none searches
  bool awaits_worker() const;  ///< the same, but it is left to workers that are on their way
  Worker* claim();             ///< one that it lacks or awaits, for the calling thread; or null
  bool has_awake_on(int cpu, const Worker& but) const;

 private:
  friend class Tour;  // which takes and leaves seats

  void run(Worker& me, ReadyNode& node);
  // These return what runs next, or null.
  ReadyNode* run_operation(Worker& me, Operation& op);
  ReadyNode* run_recorded(Worker& me, GraphItem& item);
  Outcome run_row(Worker& me, GraphItem& item);
  bool is_wanted_elsewhere(const Worker& me) const;  ///< than at the run that it goes on with
  ReadyNode* run_stretch(Worker& me);
  void end_uses(GraphItem& item, std::uint32_t op, GraphRun::Step& step);
  ReadyNode* run_work(Worker& me, StreamItem& item);
  ReadyNode* go_on_with(Worker& me, ReadyList& ready);
  ReadyNode* go_on_with(Worker& me, KeptNodes& kept);
  ReadyNode* keep_or_queue(Worker& me, ReadyNode& node);
  ReadyNode* queue_and_take(Worker& me, std::span<ReadyNode* const> nodes);
  void grant_seat(const Worker& me);  ///< to a guest that asks, if two workers share a CPU
  bool shares_cpu(const Worker* me, int cpu) const;
  ReadyNode* join_first();  ///< of an open run, if that goes before the queue; or null
  ReadyNode* next(Worker& me);
  void end(Worker& me, Operation& op, ReadyList& ready);
  bool could_defer(const Worker& me) const;  ///< an end that somebody waits for
  bool may_defer(const Worker& me);          ///< the same once it is posted
  void collect_deferred();
  void collect_overdue();
  ReadyNode* from_batch(Worker& me);
  void return_batch(Worker& me);
  void move_up(ReadyNode& node, int from, int to);
  ReadyNode* search(Worker& me);
  ReadyNode* find(Worker& me, bool has_seat);
  void begin_work(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching);
  void leave_shared_cpu(Worker& me) const;
  void collect_while_searching();
  void queue_own(ReadyList& ready);
  void dispatch_while_searching(ReadyList& ready);
  ReadyNode* steal(const Worker& me);
  void look_around(Worker& me, const GraphRun* at = nullptr);  ///< a run that it is at
  ReadyNode* take(Worker& me);
  void take_along(Worker& me, ReadyList& ready);
  void begin_taking(TakenAlong::Mark& mark);
  void tell_taken(TakenAlong::Mark& mark, int priority, std::uint64_t sequence);
  bool begin_stretch(TakenAlong::Mark& mark);
  bool enter_stretch(Worker& me, bool& searching);  ///< true: it has one, or look again
  bool may_enter_stretch(Worker& me);
  FailurePtr run_arrivals(Worker& me);
  bool has_work() const;
  bool has_batch() const;
  bool takes_arrivals() const;     ///< no thread on tour does, and no other pool goes first
  std::uint64_t progress() const;  ///< rises with what workers find, and with what they end of runs
  bool end_measuring(Worker& me, std::int64_t begin);  ///< a time; true if operations are fine
  bool are_small_beside_streams() const;
  bool may_nap(Worker& me) const;
  void watch_runs(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching);
  void nap(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching);
  bool spin(int& pauses) const;  ///< false: no work has come for long
  void let_come() const;
  bool try_sleep(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching, bool has_seat);
  bool may_spin() const { return spins_ || (may_stand_in() && group_.may_spin()); }
  void search_early(Worker& me, const ReadyList& ready);
  void empty_inbox();
  Worker* claim_sleeper();  ///< that has to search now, or null: to be woken without the lock
  Worker* claim_one();

  ThreadedEngine& engine_;
  PoolGroup& group_;
  const bool spins_;
  const base::OpenMp openmp_;
  const unsigned float_control_;  ///< of its threads
  std::vector<std::unique_ptr<Worker>> workers_;

  Inbox inbox_;

  alignas(64) base::SpinLock mutex_;
  ReadyQueue queue_;
  OpenRuns open_runs_;

  // Mostly written under mutex_, and read without. Who puts reads only what seldom changes.
  alignas(64) base::Atomic<bool> has_queue_{false};  ///< something is in queue_
  base::Atomic<bool> stopping_{false};
  base::Atomic<bool> in_group_{false};
  std::size_t number_ = 0;
  MeasuredGrain grain_;
  base::Atomic<std::uint32_t> without_stretch_{0};  ///< looks for arrivals
  base::Atomic<std::uint32_t> without_sharing_{0};  ///< the same, where several workers are awake
  GuestSeats guests_;
  base::Atomic<std::uint64_t> takes_{0};  ///< how often somebody found work
  TakenAlong taken_;
  IdleWorkers idle_;
  alignas(64) DeferredEnds deferred_;
  StreamItems items_;
};

}  // namespace heddle::detail
