// How a worker looks for work, and what it does when there is none.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "engine/base/cpus.h"
#include "engine/threaded_engine.h"
#include "engine/worker_pool.h"

namespace heddle::detail {
namespace {

/// As long as it takes to wake a thread, in ns: who sleeps sooner pays more than it saves.
constexpr std::int64_t kSpin = 20000;

/// Longest pause between two looks, in pauses of the CPU: each look costs who pushes a cache miss.
constexpr int kMaxPauses = 32;

/// Pauses between two looks whether somebody has begun to wait.
constexpr int kFewPauses = 2;

/// How long a worker that is faster than who pushes lets operations come before it looks again, in
/// ns: each look takes lines from the pusher.
constexpr std::int64_t kLetCome = 8000;

/// How often a worker leaves a CPU at most, in ns: it takes some microseconds.
constexpr std::int64_t kLeaveEvery = 500000;

/// How long a worker naps.
constexpr std::chrono::microseconds kNap{50};

/// A worker that finds fewer arrivals than this is faster than who pushes.
constexpr std::size_t kEnoughArrivals = 16;

/// Arrivals that are taken in at a time, while other workers may want the ledger, and while they
/// nap or belong to other lanes.
constexpr std::size_t kFewArrivals = 16;
constexpr std::size_t kManyArrivals = 64;

/// Fewer operations than this, in a nap, are too few for the others to be small.
constexpr std::uint64_t kFewInNap = 32;

}  // namespace

std::uint64_t WorkerPool::progress() const { return takes() + open_runs_.ended(); }

bool WorkerPool::end_measuring(Worker& me, std::int64_t begin) {
  std::int64_t never = 0;  // an extra one is not kMeasureEvery after the last one
  const bool are_fine = grain_.measured(begin, me.measures() ? me.measured_at : never);
  group_.set_tiny(grain_.is_tiny());
  me.measures_next = grain_.is_in_doubt();
  return are_fine;
}

/// True if operations are tiny, and other queues may have some that they wait for, as those of
/// streams do: to find out what is ready is more work than to run it.
bool WorkerPool::are_small_beside_streams() const {
  if (!grain_.is_tiny() || !grain_.are_short()) return false;
  return !may_stand_in() && !engine_.has_one_queue();
}

/// True if one worker is enough for what there is, as operations are tiny, or so small that they
/// are not worth it and wait for each other, or they are short and two workers on one CPU; and
/// another one has taken some since the last look of this one. Or if guests are enough.
bool WorkerPool::may_nap(Worker& me) const {
  if (guests_.streak_goes_on(me.guest_streak)) return !seems_to_have_work() && !stopping_.load();
  if (!grain_.are_short() || stopping_.load() || idle_.awake() < 2) return false;
  const bool wait_for_each_other = without_sharing_.load(std::memory_order_relaxed) != 0;
  const bool is_enough =
      is_fine() || (grain_.is_tiny() && wait_for_each_other) || are_small_beside_streams();
  if (!is_enough && !shares_cpu(&me, base::current_cpu())) return false;
  const std::uint64_t taken = progress();
  return std::exchange(me.takes, taken) != taken;
}

/// Takes part in the runs that are kept in order if they do not go on fast without it.
void WorkerPool::watch_runs(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching) {
  me.takes = progress();
  if (idle_.awake() > 1) nap(me, lock, searching);
  const std::uint64_t taken = progress();
  const bool are_slow = taken - std::exchange(me.takes, taken) < kFewInNap;
  if (!open_runs_.leave_orders(/*all=*/are_slow)) return;
  lock.unlock();
  searching ? collect_while_searching() : engine_.collect();  // what was posted before
  lock.lock();
}

void WorkerPool::nap(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching) {
  me.forget_cpu();
  me.measured_at = 0;
  idle_.begin_nap(searching);
  lock.unlock();
  if (searching) group_.hand_over(*this);
  // Else at the end of each nap it would take that from who pushes.
  const int avoided = grain_.is_tiny() ? group_.avoided_cpu() : -1;
  if (avoided >= 0 && avoided == base::current_cpu()) base::leave_cpu();
  base::sleep_for(kNap);
  idle_.end_nap();
  if (!is_fine() && avoided < 0 && shares_cpu(&me, base::current_cpu())) base::leave_cpu();
  collect_deferred();
  lock.lock();
  if (searching) idle_.begin_search();
}

/// Only for what is not waited for.
void WorkerPool::let_come() const {
  const std::int64_t end = now_ns() + kLetCome;
  while (!engine_.ledger().is_urgent() && now_ns() < end) {
    if (has_queue_.load(std::memory_order_relaxed) || stopping_.load()) return;
    for (int i = 0; i < kFewPauses; ++i) base::cpu_relax();
  }
}

/// Queues those of `ready` that are for this pool.
void WorkerPool::queue_own(ReadyList& ready) {
  Operation* op = ready.take_first_of(*this);
  if (op == nullptr) return;
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    empty_inbox();
    for (; op != nullptr; op = ready.take_first_of(*this)) {
      if (taken_.is_urgent(op->priority(), op->sequence)) taken_.call_back();
      queue_.push(*op);
    }
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
}

void WorkerPool::take_in(Worker* me, bool searching) {
  Ledger& ledger = engine_.ledger();
  const Intake& intake = ledger.intake();
  if (me != nullptr) me->looked_at = me->ran;
  if (!intake.seems_to_have_arrivals()) return;
  ReadyList ready;
  const bool are_few = engine_.has_one_queue() && !is_fine();
  // Of who counts as idle a guest may have the seat, and run something; as may other pools.
  const bool hands_on = me == nullptr || searching || !engine_.has_one_queue();
  const std::size_t count = ledger.take_in(ready, are_few ? kFewArrivals : kManyArrivals,
                                           me != nullptr ? &me->mailbox : nullptr, hands_on);
  if (count == 0) base::yield();  // others have taken them in, or there is no memory for that now
  if (ready.empty()) return;
  if (me != nullptr) {
    me->is_fed = count < kEnoughArrivals && !intake.seems_to_have_arrivals();
    const std::lock_guard lock(mutex_);
    take_along(*me, ready);
  }
  queue_own(ready);
  searching ? dispatch_while_searching(ready) : engine_.dispatch(ready);
}

/// Takes in what has arrived and queues what is ready elsewhere, whatever there is in the queue: in
/// runs, and what another worker has taken along and does not come to. Else workers that always
/// find something would overtake that for ever.
void WorkerPool::look_around(Worker& me, const GraphRun* at) {
  take_in(&me, /*searching=*/false);
  if (workers_.size() == 1 && open_runs_.empty()) return;
  const auto queue = [this](ReadyNode& node) {
    if (taken_.is_urgent(node.priority(), node.sequence)) taken_.call_back();
    queue_.push(node);
  };
  Worker* woken = nullptr;
  bool has_left_orders = false;
  {
    const std::lock_guard lock(mutex_);
    empty_inbox();
    has_left_orders = open_runs_.leave_orders(/*all=*/false);
    if (GraphItem* const item = open_runs_.join({}, at)) queue(*item);
    for (const auto& other : workers_) {
      if (other.get() == &me) continue;
      const ReadyNode* const first = other->batch.first_left();
      if (std::exchange(other->batch_at_look, first) != first || first == nullptr) continue;
      while (ReadyNode* const node = other->batch.steal()) queue(*node);
    }
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
  if (has_left_orders) engine_.collect();  // what was posted before
}

/// What a worker runs next, or null.
ReadyNode* WorkerPool::find(Worker& me, bool has_seat) {
  if (!has_seat) {
    return_batch(me);  // a guest has taken the seat while it was taking in arrivals
    return nullptr;
  }
  if (me.stretch != nullptr) return me.stretch;
  ReadyNode* node = me.batch.pop();
  if (node == nullptr) node = join_first();
  if (node == nullptr) node = take(me);
  return node != nullptr ? node : steal(me);
}

/// It has found something: wakes the next one if there is more.
void WorkerPool::begin_work(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching) {
  me.waits_since = 0;
  takes_.store(takes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  me.takes = progress();
  me.note_cpu();
  if (!queue_.empty() || !me.batch.empty() || me.stretch != nullptr) guests_.end_streak();
  if (searching) idle_.end_search();
  Worker* const woken = claim_sleeper();
  lock.unlock();
  PoolGroup::wake(woken);
  if (searching) group_.hand_over(*this);
  if (!grain_.is_tiny()) leave_shared_cpu(me);
}

bool WorkerPool::has_awake_on(int cpu, const Worker& but) const {
  if (cpu < 0) return false;
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return worker.get() != &but && worker->awake_on.load(std::memory_order_relaxed) == cpu;
  });
}

/// The system may leave two threads on one CPU for long although another one is idle: what it wakes
/// it puts beside who wakes it, where an idle CPU does not seem to be at once there, as in a
/// virtual machine. So they take turns there, and nothing runs at the same time.
void WorkerPool::leave_shared_cpu(Worker& me) const {
  if (!may_stand_in()) return;
  const std::int64_t now = now_ns();
  if (now - me.left_cpu_at < kLeaveEvery || !group_.may_spin() || !group_.shares_cpu(me)) return;
  me.left_cpu_at = now;
  base::leave_cpu();
  me.note_cpu();
}

ReadyNode* WorkerPool::search(Worker& me) {
  PoolThread& self = *me.self;
  bool searching = std::exchange(self.is_searching, false);
  std::unique_lock lock(mutex_);
  bool has_spun = !may_spin();
  bool has_collected = false;
  int pauses = 1;  // between two looks
  for (;;) {
    if (me.batch.empty() && me.stretch == nullptr && may_nap(me)) {
      nap(me, lock, searching);
      has_collected = false;  // what was deferred since it looked
      // To look for more would dissolve the stretch that another one is at.
      if (engine_.ledger().has_stretch() && !seems_to_have_work()) continue;
    }
    if (!searching && me.stretch == nullptr) grant_seat(me);
    const bool has_seat = idle_.count() + (searching ? 0 : 1) > guests_.count();
    ReadyNode* const node = find(me, has_seat);
    if (node != nullptr || stopping_.load()) {
      begin_work(me, lock, searching);
      return node;
    }
    if (has_seat && has_queue_.load(std::memory_order_relaxed)) has_queue_.store(false);
    const bool may_take = has_seat && takes_arrivals();
    if (may_take && engine_.ledger().intake().seems_to_have_arrivals() &&
        !(searching && may_stand_in() && group_.lacks_worker(*this))) {
      lock.unlock();
      if (!enter_stretch(me, searching) && takes_arrivals() && !seems_to_have_work()) {
        take_in(&me, searching);
      }
      lock.lock();
      continue;
    }
    if (has_seat && open_runs_.has_held_in_order()) {
      watch_runs(me, lock, searching);
      continue;
    }
    if (!has_seat) has_spun = true;
    me.measured_at = 0;
    if (!has_spun || !has_collected) {
      if (!std::exchange(searching, true)) {
        idle_.begin_search(me);
      }
      lock.unlock();
      if (deferred_.take()) {
        collect_while_searching();
      } else if (!has_spun) {
        has_spun = !spin(pauses);
      } else {
        has_collected = true;
        collect_while_searching();
      }
      lock.lock();
      continue;
    }
    has_collected = false;  // it counts as asleep: what is deferred meanwhile is its business
    if (!try_sleep(me, lock, std::exchange(searching, false), has_seat)) continue;
    group_.sleep(me, self);
    return nullptr;
  }
}

/// Takes note of what is posted. What runs here, as a GPU's callable does where it is issued, is
/// not run by a thread that counts as searching: nobody is woken for its sake.
void WorkerPool::collect_while_searching() {
  ReadyList ready;
  engine_.ledger().collect(ready);
  dispatch_while_searching(ready);
}

void WorkerPool::dispatch_while_searching(ReadyList& ready) {
  if (ready.all(ThreadedEngine::runs_elsewhere)) return engine_.dispatch(ready);
  engine_.dispatch_to_workers(ready);
  idle_.end_search();
  wake_one();
  group_.hand_over(*this);
  engine_.dispatch(ready);
  idle_.begin_search();
}

/// False if there is something to look at first, for who has a seat. Else without the lock.
bool WorkerPool::try_sleep(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching,
                           bool has_seat) {
  group_.begin_change(me);
  idle_.begin_sleep(searching);
  // Who put it there may have seen nobody asleep, or is at it.
  if (has_seat && (!inbox_.empty() || open_runs_.has_ready() ||
                   (takes_arrivals() && engine_.ledger().intake().has_arrivals()))) {
    idle_.cancel_sleep();
    group_.end_change(*me.self);
    lock.unlock();
    if (searching) group_.hand_over(*this);
    base::yield();
    lock.lock();
    return false;
  }
  me.is_fed = false;
  me.waits_since = 0;
  me.forget_cpu();
  me.self->keeps_off = idle_.lie_down(me, grain_.is_tiny() ? group_.avoided_cpu() : -1);
  lock.unlock();
  return true;
}

/// Counts the worker as searching if it has nothing to do next: then nobody is woken for what it
/// has made ready elsewhere, and its own thread goes there.
void WorkerPool::search_early(Worker& me, const ReadyList& ready) {
  if (ready.empty() || !ThreadedEngine::is_for_worker(*ready.front())) return;
  if (!me.batch.empty() || !may_stand_in() || seems_to_have_work()) return;
  if (!ready.all(ThreadedEngine::runs_elsewhere)) return;
  me.self->is_searching = true;
  idle_.begin_search(me);
}

bool WorkerPool::spin(int& pauses) const {
  const bool gives_way = !engine_.has_one_queue();  // to the threads of the others
  const std::int64_t end = now_ns() + kSpin;
  for (; now_ns() < end; pauses = std::min(2 * pauses, kMaxPauses)) {
    if (seems_to_have_work() || stopping_.load()) return true;
    if (may_stand_in() && group_.lacks_worker(*this)) return false;
    if (!takes_arrivals()) return false;
    if (engine_.ledger().intake().seems_to_have_arrivals()) return true;
    if (gives_way) base::yield();
    for (int i = 0; i < pauses && !gives_way; ++i) base::cpu_relax();
  }
  return false;
}

}  // namespace heddle::detail
