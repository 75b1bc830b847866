#include "engine/pool_group.h"

#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/cpus.h"
#include "engine/base/thread.h"
#include "engine/worker_pool.h"

namespace heddle::detail {
namespace {

/// How long who watches naps.
constexpr std::chrono::microseconds kNap{50};

}  // namespace

void PoolGroup::start(Worker& worker) {
  const std::string name = "hdl-worker-" + std::to_string(threads_.size());
  threads_.push_back(std::make_unique<PoolThread>(worker));
  PoolThread& self = *threads_.back();
  worker.self = &self;
  try {
    self.thread = base::start_thread(name, [&self] {
      Worker* now = self.worker.load();
      now->pool.openmp().share_cpus();
      while (now->pool.work(*now)) now = self.worker.load();
    });
  } catch (...) {
    threads_.pop_back();
    throw;
  }
}

void PoolGroup::add(WorkerPool& pool, int spinning) {
  const std::size_t n = count();
  if (n != 0 && pool.float_control() != this->pool(0).float_control()) return;
  spinning_.fetch_add(static_cast<std::size_t>(spinning));
  pools_.at(n).store(&pool);
  pool.join_group(n);
  count_.store(n + 1);
}

void PoolGroup::stop() {
  for (const auto& self : threads_) self->wake();
  for (const auto& self : threads_) {
    if (self->thread.joinable()) self->thread.join();
  }
}

void PoolGroup::stop(const WorkerPool& pool) {
  while (!threads_.empty() && &threads_.back()->worker.load()->pool == &pool) {
    threads_.back()->wake();
    threads_.back()->thread.join();
    threads_.pop_back();
  }
}

std::size_t PoolGroup::awake() const {
  std::size_t awake = changing_.load();
  for (std::size_t i = 0; i != count(); ++i) awake += pool(i).idle().awake();
  return awake;
}

std::uint64_t PoolGroup::takes() const {
  std::uint64_t takes = 0;
  for (std::size_t i = 0; i != count(); ++i) takes += pool(i).takes();
  return takes;
}

bool PoolGroup::is_looked_after(const WorkerPool& pool, bool may_come) const {
  if (has_tour() || changing_.load() != 0 || (watching_.load() != 0 && awake() != 0)) return true;
  return any_but(pool, [may_come](WorkerPool& other) {
    return may_come ? other.idle().searching() != 0 : other.idle().has_searcher();
  });
}

/// Where operations are small one worker is enough, as long as somebody watches. What is left to a
/// thread that is on its way is not being run.
bool PoolGroup::should_stand_in(WorkerPool& pool) const {
  if (pool.awaits_worker()) return true;
  if (!pool.lacks_worker()) return false;
  return watching_.load() == 0 || !pool.is_fine() || pool.idle().awake() == 0;
}

bool PoolGroup::lacks_worker(const WorkerPool& but) const {
  return any_but(but, [this](WorkerPool& other) { return should_stand_in(other); });
}

bool PoolGroup::has_queued(const WorkerPool& but) const {
  const bool are_tiny = this->are_tiny();
  return any_but(but, [are_tiny](WorkerPool& other) {
    const bool is_left = other.awaits_worker() || (are_tiny && other.idle().lack_searcher());
    return is_left && other.seems_to_have_work() && other.has_free_seat();
  });
}

void PoolGroup::hand_over(const WorkerPool& pool) const {
  if (!pool.may_stand_in()) return;
  for (std::size_t i = 0; i != count(); ++i) {
    WorkerPool& other = this->pool(i);
    if (&other != &pool && other.lacks_worker()) other.wake_one();
  }
}

Worker* PoolGroup::claim() const {
  for (std::size_t i = 0; i != count(); ++i) {
    WorkerPool& other = pool(i);
    if (!should_stand_in(other)) continue;
    if (Worker* const worker = other.claim()) return worker;
  }
  return nullptr;
}

bool PoolGroup::shares_cpu(const Worker& me) const {
  const int here = me.awake_on.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i != count(); ++i) {
    if (pool(i).has_awake_on(here, me)) return true;
  }
  return false;
}

bool PoolGroup::watch(PoolThread& self) {
  if (self.woken.load() != PoolThread::kNot) return false;
  if (!has_tour() && (!may_watch() || takes() == self.watched)) return false;
  std::uint32_t nobody = 0;
  if (!watching_.compare_exchange_strong(nobody, 1)) return false;
  for (bool goes_on = true; goes_on;) {
    for (std::size_t i = 0; i != count(); ++i) taken_.at(i) = pool(i).takes();
    PoolThread* const on_tour = touring_.load();
    const Tour::Look look = on_tour != nullptr ? on_tour->tour.look() : Tour::Look{};
    base::sleep_for(kNap);
    // Its own worker may have been claimed since it lay down: then nobody else is woken for that.
    if (self.woken.load() != PoolThread::kNot || displace_if_stuck(on_tour, look)) break;
    goes_on = !neglects_one() && (has_tour() || (may_watch() && this->goes_on()));
  }
  self.watched = takes();
  watching_.store(0);
  have_watched();  // a tour that has begun before that, and counts on it
  return true;
}

void PoolGroup::have_watched() const {
  if (PoolThread* const on_tour = touring_.load()) on_tour->tour.have_watched();
}

/// True if the thread was displaced: then the caller searches.
bool PoolGroup::displace_if_stuck(PoolThread* on_tour, const Tour::Look& last) {
  if (on_tour == nullptr || last.round == 0 || touring_.load() != on_tour) return false;
  if (on_tour->tour.look() != last) return false;
  if (!on_tour->tour.displace(pool(0), last.round)) return false;
  touring_.store(nullptr);
  return true;
}

bool PoolGroup::begin_tour(Worker& me) {
  PoolThread& self = *me.self;
  PoolThread* nobody = nullptr;
  if (!touring_.compare_exchange_strong(nobody, &self)) return false;
  self.tour.begin(me);
  return true;
}

bool PoolGroup::gather(PoolThread& on_tour) const {
  std::array<WorkerPool*, kMaxPools> pools{};
  const std::size_t n = count();
  for (std::size_t i = 0; i != n; ++i) pools.at(i) = &pool(i);
  on_tour.tour.gather({pools.data(), n});
  if (on_tour.tour.is_alone()) return false;
  if (watching_.load() == 0) have_watched();
  return true;
}

void PoolGroup::end_tour(PoolThread& self) {
  self.tour.end();
  touring_.store(nullptr);
}

/// True if some pool lacks a worker, and nothing was taken from it during the nap.
bool PoolGroup::neglects_one() const {
  for (std::size_t i = 0; i != count(); ++i) {
    if (pool(i).takes() == taken_.at(i) && pool(i).lacks_worker()) return true;
  }
  return false;
}

/// True if something was taken during the nap.
bool PoolGroup::goes_on() const {
  for (std::size_t i = 0; i != count(); ++i) {
    if (pool(i).takes() != taken_.at(i)) return true;
  }
  return false;
}

void PoolGroup::begin_change(Worker& me) {
  me.self->is_changing = me.pool.may_stand_in();
  if (me.self->is_changing) changing_.fetch_add(1);
}

void PoolGroup::end_change(PoolThread& self) {
  if (std::exchange(self.is_changing, false)) changing_.fetch_sub(1);
}

void PoolGroup::sleep(Worker& me, PoolThread& self) {
  if (me.pool.may_stand_in()) {
    const bool is_another = stand_in(me, self);
    end_change(self);
    if (is_another || stand_in(me, self)) return;  // the second time for what was left to it
  }
  if (wait(self)) return;
  self.is_searching = true;
  Worker& worker = *self.worker.load();
  const std::lock_guard lock(worker.pool.mutex());
  worker.pool.idle().arrive(worker);
}

/// Until the thread is woken to work. True, and sooner, if it has become another worker.
bool PoolGroup::wait(PoolThread& self) {
  const base::KeptOff kept(self.keeps_off ? placement_.avoided_cpu() : -1);
  do {
    const bool may_watch = self.worker.load()->pool.may_stand_in();
    if (may_watch && watch(self) && get_up(self)) return true;
    while (self.woken.load() == PoolThread::kNot) self.woken.wait(PoolThread::kNot);
  } while (self.woken.exchange(PoolThread::kNot) != PoolThread::kToWork);
  placement_.end_wake();
  return false;
}

/// Makes the calling thread, which is `me` and has lain down, the worker that a pool lacks or
/// awaits. False if none does, or if somebody is just waking this one.
bool PoolGroup::stand_in(Worker& me, PoolThread& self) {
  Worker* const lacking = claim();
  if (lacking == nullptr) return false;
  PoolThread& other = *lacking->self;
  self.is_searching = true;
  if (&other == &self) return true;
  {
    const std::lock_guard lock(me.pool.mutex());
    if (me.is_asleep && me.self == &self) {
      me.pool.idle().forget_kept_off(me);
      me.self = &other;
      other.worker.store(&me);
      lacking->self = &self;
      self.worker.store(lacking);
      return true;
    }
  }
  {
    const std::lock_guard lock(lacking->pool.mutex());
    lacking->pool.idle().expect(*lacking);
  }
  wake(lacking);
  return false;
}

/// Makes the sleeping worker that the calling thread is a searching one. False if somebody has
/// claimed it.
bool PoolGroup::get_up(PoolThread& self) {
  for (;;) {
    Worker& worker = *self.worker.load();
    WorkerPool& pool = worker.pool;
    const std::lock_guard lock(pool.mutex());
    if (!worker.is_asleep) return false;
    if (worker.self != &self) continue;  // meanwhile it is another one
    pool.idle().get_up(worker);
    self.is_searching = true;
    return true;
  }
}

void PoolGroup::wake(Worker* claimed) {
  if (claimed != nullptr) claimed->self->wake();
}

void PoolGroup::wake_for_push(Worker* claimed) {
  if (claimed == nullptr) return;
  placement_.begin_wake();
  wake(claimed);
}

}  // namespace heddle::detail
