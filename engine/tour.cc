// Whose seats a thread on tour has.

#include "engine/tour.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/threaded_engine.h"
#include "engine/worker_pool.h"

namespace heddle::detail {

void Tour::begin(Worker& me) {
  const std::lock_guard held(lock_);
  count_ = 0;
  add(me.pool, me);
  is_on_ = true;
}

void Tour::add(WorkerPool& pool, Worker& worker) {
  seat_of_[pool.number_] = count_;
  queues_[count_] = &pool;
  seats_[count_++] = {&pool, &worker, 0};
}

void Tour::gather(std::span<WorkerPool* const> pools) {
  const std::lock_guard held(lock_);
  for (WorkerPool* const pool : pools) {
    const auto known = seats();
    const bool has_seat = std::any_of(known.begin(), known.end(),
                                      [pool](const Seat& seat) { return seat.pool == pool; });
    if (has_seat) continue;
    if (Worker* const worker = borrow(*pool)) add(*pool, *worker);
  }
}

/// A worker that sleeps or is on its way, whose seat the caller has then; null if there is other
/// work, or none.
Worker* Tour::borrow(WorkerPool& pool) {
  const std::lock_guard held(pool.mutex_);
  IdleWorkers& idle = pool.idle_;
  if (pool.stopping_.load() || !pool.grain_.is_tiny() || !pool.has_free_seat()) return nullptr;
  if (pool.seems_to_have_work() || !pool.open_runs_.empty() || pool.has_batch()) return nullptr;
  Worker* const worker = idle.can_claim() ? &idle.claim() : idle.recall();
  if (worker != nullptr) pool.guests_.take();
  return worker;
}

void Tour::forget_stretch(WorkerPool& pool) {
  const std::lock_guard held(pool.mutex_);
  pool.taken_.none();
}

void Tour::give_back(const Seat& seat) {
  WorkerPool& pool = *seat.pool;
  const std::lock_guard held(pool.mutex_);
  pool.taken_.none();
  pool.guests_.leave();
  pool.idle_.begin_sleep(/*searching=*/true);
  pool.idle_.lie_down(*seat.worker);
}

void Tour::end() {
  const std::lock_guard held(lock_);
  is_on_ = false;
  forget_stretch(*seats_[0].pool);
  for (const Seat& seat : seats().subspan(1)) give_back(seat);
}

Tour::Look Tour::look() {
  const std::lock_guard held(lock_);
  return {is_inside_ ? round_ : 0, steps_.load(std::memory_order_relaxed)};
}

bool Tour::displace(WorkerPool& pool, std::uint64_t round) {
  pool.engine_.ledger().dissolve_stretch();
  const std::lock_guard held(lock_);
  if (!is_inside_ || round_ != round) return false;
  is_inside_ = is_on_ = false;
  const WorkerPool* const at = at_.load(std::memory_order_acquire);
  forget_stretch(*seats_[0].pool);
  for (const Seat& seat : seats().subspan(1)) {
    seat.pool != at ? give_back(seat) : change_worker(seat);
  }
  return true;
}

/// The thread is the worker of that seat from now on, and that one's thread the worker that this
/// one was, asleep.
void Tour::change_worker(const Seat& kept) {
  Worker& before = *seats_[0].worker;
  PoolThread& self = *before.self;
  PoolThread& other = *kept.worker->self;
  {
    WorkerPool& pool = *kept.pool;
    const std::lock_guard held(pool.mutex_);
    pool.taken_.none();
    kept.worker->self = &self;
    self.worker.store(kept.worker);
    pool.guests_.leave();
    pool.idle_.end_search();
  }
  WorkerPool& pool = before.pool;
  const std::lock_guard held(pool.mutex_);
  before.self = &other;
  other.worker.store(&before);
  before.is_fed = false;
  before.waits_since = 0;
  before.forget_cpu();
  pool.idle_.begin_sleep(/*searching=*/false);
  pool.idle_.lie_down(before);
}

void Tour::have_watched() {
  const std::lock_guard held(lock_);
  if (is_on_ && !is_alone()) seats_[1].worker->self->ask_to_watch();
}

}  // namespace heddle::detail
