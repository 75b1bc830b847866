// What a thread does on tour.

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/threaded_engine.h"
#include "engine/tour.h"
#include "engine/worker_pool.h"

namespace heddle::detail {
namespace {

/// How long who sets out waits for the workers of other pools to sleep, in ns.
constexpr std::int64_t kGather = 30000;

/// The same where a thread waits for what is pending.
constexpr std::int64_t kGatherUrgently = 10000;

/// After that has failed no worker of the pool tries again for so many looks.
constexpr std::uint32_t kLooksWhenRefused = 4;

/// Who finds fewer arrivals than this lets others come.
constexpr std::uint64_t kFewToCome = 16;

}  // namespace

bool Tour::set_out(Worker& me, bool& searching) {
  WorkerPool& home = me.pool;
  if (!home.may_stand_in()) return false;
  if (home.engine_.ledger().intake().seem_fewer(base::kFewestInStretch)) return false;
  if (!std::exchange(searching, true)) home.idle_.begin_search(me);
  if (!home.group_.begin_tour(me)) return false;
  ReadyList ready;
  if (gather_and_enter(me, searching, ready)) return true;
  home.engine_.dispatch_to_workers(ready);
  if (!std::exchange(searching, true)) home.idle_.begin_search();
  home.group_.end_tour(*me.self);
  home.dispatch_while_searching(ready);
  return false;
}

/// The workers of other pools are about to sleep, as long as these have no work.
bool Tour::gather_and_enter(Worker& me, bool& searching, ReadyList& ready) {
  WorkerPool& home = me.pool;
  const std::int64_t begin = now_ns();
  for (bool is_last = false; !is_last; base::yield()) {
    // Who yields may be away for long, and others have got on: so there is a look after each time.
    const bool is_urgent = home.engine_.ledger().is_urgent();
    is_last = now_ns() - begin >= (is_urgent ? kGatherUrgently : kGather);
    if (home.group_.lacks_worker(home) || home.seems_to_have_work()) return false;
    if (!home.group_.gather(*me.self)) continue;
    if (searching) {
      const std::lock_guard held(home.mutex_);
      if (!home.has_free_seat()) return false;  // a guest has its seat
      home.idle_.end_search();
      searching = false;
    }
    if (!prepare()) return false;
    if (enter_stretch(me, ready)) return true;
    if (!ready.empty()) return false;
  }
  home.without_stretch_.store(kLooksWhenRefused, std::memory_order_relaxed);
  return false;
}

bool Tour::prepare() {
  return !seats_[0].pool->stopping_.load() &&
         std::all_of(seats().begin(), seats().end(), [](Seat& seat) {
           WorkerPool& pool = *seat.pool;
           return pool.grain_.is_tiny() && pool.begin_stretch(seat.taken_at) && !pool.has_batch();
         });
}

bool Tour::enter_stretch(Worker& me, ReadyList& ready) {
  Ledger& ledger = me.pool.engine_.ledger();
  const StretchPlace entered =
      ledger.enter_stretch({queues_.data(), count_}, /*joins=*/false, me.mailbox, ready);
  if (entered.stretch == nullptr) return false;
  me.stretch = entered.stretch;
  const Arrival& last = me.stretch->last();
  for (Seat& seat : seats()) seat.pool->tell_taken(seat.taken_at, last.priority, last.sequence);
  return true;
}

void Tour::enter() {
  const std::lock_guard held(lock_);
  at_.store(seats_[0].pool, std::memory_order_relaxed);
  is_inside_ = true;
  ++round_;
}

bool Tour::leave() {
  const std::lock_guard held(lock_);
  return std::exchange(is_inside_, false);
}

bool Tour::goes_to(const WorkerPool& pool) {
  const Seat& seat = seats_[seat_of_[pool.number_]];
  if (!pool.taken_.is_current(seat.taken_at)) return false;
  // Seen by who dissolves the stretch after something of the pool is claimed. Who sees it before
  // that gives back the seat of what has run last.
  at_.store(&pool, std::memory_order_release);
  steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return true;
}

std::int64_t Tour::begin_measuring(const WorkerPool& pool) {
  const bool measures = ++ran_ % base::kMeasureEveryOnTour == 0 || pool.grain_.is_in_doubt();
  return measures ? now_ns() : 0;
}

/// Until there is no more, or something else is to be done first. Returns what the last one has
/// failed with, or null.
FailurePtr Tour::run_arrivals(Stretch& stretch, WorkerPool& home) {
  ThreadedEngine& engine = home.engine_;
  const Ledger& ledger = engine.ledger();
  while (engine.just_runs()) {
    auto* const pool = static_cast<WorkerPool*>(stretch.next_queue());
    if (pool == nullptr || !goes_to(*pool)) break;
    Arrival* arrival = nullptr;
    const auto claim = stretch.claim(/*place=*/0, ledger.first_uncovered(), arrival);
    if (claim != Stretch::Claim::kSome) break;
    const std::int64_t begin = begin_measuring(*pool);
    FailurePtr failure = engine.run(*arrival);
    if (failure != nullptr) return failure;
    if (begin == 0) continue;
    const bool is_tiny = pool->grain_.measured_one(begin);
    home.group_.set_tiny(is_tiny);
    if (!is_tiny) break;
  }
  return nullptr;
}

void Tour::go_on(Worker& me) {
  WorkerPool& home = me.pool;
  ThreadedEngine& engine = home.engine_;
  PoolThread& self = *me.self;
  ReadyList ready;
  bool gets_on = false;  // else there is something to be done first, or will be when it has come
  do {
    Stretch& stretch = *std::exchange(me.stretch, nullptr);
    const std::uint32_t ran = ran_;
    enter();
    FailurePtr failure = run_arrivals(stretch, home);
    Operation* const last = engine.ledger().leave_stretch(stretch, /*place=*/0, failure != nullptr);
    const bool is_displaced = !leave();
    if (last != nullptr) {
      engine.settle_last(*last, std::move(failure));
      engine.ledger().end(*last, ready);
    }
    if (is_displaced) return engine.dispatch(ready);
    gets_on = ran_ != ran && ready.empty();
    if (gets_on && engine.ledger().intake().seem_fewer(kFewToCome)) home.let_come();
  } while (gets_on && !home.group_.lacks_worker(home) && prepare() && enter_stretch(me, ready));
  engine.dispatch_to_workers(ready);  // before another thread takes what was pushed later
  self.is_searching = true;
  home.idle_.begin_search(me);
  home.group_.end_tour(self);
  home.dispatch_while_searching(ready);
}

}  // namespace heddle::detail
