#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/sync.h"
#include "engine/pool_thread.h"
#include "engine/wake_placement.h"

namespace heddle::detail {

class WorkerPool;

/// The pools of an engine's CPU lanes, and their threads, which stand in for each other: one that
/// has nothing to do becomes the sleeping worker of another pool that has work; the thread that
/// this one had becomes the worker that the first one was, and sleeps on. So what goes from lane to
/// lane does not wake a thread at each step, and yet every worker has a thread of its own at every
/// moment, whatever the operations do. The same goes for a worker whose thread has been woken and
/// is not there yet: the system may have put that behind another one, for milliseconds.
///
/// Thread safety: add(), start() and stop() are called by one thread at a time; every other member
/// may be called from any thread.
///
/// Invariants:
///  - A pool lacks a worker if it has work, a worker of it sleeps, and none of it searches (see
///    WorkerPool). If one does, a thread of another pool searches or is changing its worker, or one
///    watches and one is awake, or one is on Tour, or somebody is just claiming its worker. For who
///    puts work into a pool and sees such a thread wakes nobody, and
///     - who stops searching, or lies down to sleep, looks into all pools afterwards, and once more
///       after it counts no more as changing;
///     - who stops watching searches, after that is to be seen;
///     - who puts looks for them after the work is to be seen.
///    All of this is sequentially consistent, so one sees the other.
///  - Who has recalled a worker (see IdleWorkers) is it, and searches. The thread that was woken
///    for it finds that it was not, or has found before that it was: then nobody can recall it.
///  - One watches at most, and only where operations are small: others need not wait for long until
///    one that is awake comes to their pool. If they do, or if nothing goes on and none is on Tour,
///    the watching ends.
///  - One is on Tour at most, and takes what arrives for all pools. It is on tour before it looks
///    whether one watches; who stops watching looks for it afterwards, and has another one watch.
class PoolGroup {
 public:
  /// Starts the thread of a pool's worker. Throws std::system_error and std::bad_alloc.
  void start(Worker& worker);
  /// From now on the pool's threads stand in for others, if they have the same float control. So
  /// many more may spin when they find no work.
  void add(WorkerPool& pool, int spinning);
  /// Ends all threads. Their pools have been told, and have nothing to do.
  void stop();
  /// The same for those of a pool that was not added, after which none was started.
  void stop(const WorkerPool& pool);

  bool has_others() const { return count() > 1; }
  bool may_spin() const { return awake() <= spinning_.load(); }
  /// Another worker that is awake found work last on the CPU that `me` is on.
  bool shares_cpu(const Worker& me) const;
  /// True if who puts work into `pool` may leave it to a thread of another one, which is there or,
  /// if it `may_come`, on its way.
  bool is_looked_after(const WorkerPool& pool, bool may_come = false) const;
  bool are_tiny() const { return are_tiny_.load(); }
  /// Another pool lacks or awaits a worker that the calling thread should be.
  bool lacks_worker(const WorkerPool& but) const;
  /// By the thread that is the worker `me`, before it counts as asleep. From then on what is put
  /// somewhere is left to it, until it is another worker, or has found that it need not be.
  void begin_change(Worker& me);
  void end_change(PoolThread& self);
  /// By a worker of `pool` that stops searching: wakes those that are lacking elsewhere.
  void hand_over(const WorkerPool& pool) const;
  /// By the thread that was the worker `me`, which has lain down: until the worker that the thread
  /// is then searches, or its pool is stopped.
  void sleep(Worker& me, PoolThread& self);
  /// Wakes the thread of a worker that was claimed for that; or null.
  static void wake(Worker* claimed);
  void wake_for_push(Worker* claimed);  ///< the same by a thread that pushes
  /// As the same of WakePlacement.
  void expect_wake() { placement_.begin_wake(); }
  int avoided_cpu() const { return placement_.avoided_cpu(); }
  /// The thread of `me`, which counts as searching, goes on tour; false if another one is.
  bool begin_tour(Worker& me);
  /// Takes the seats that there are now. False if nobody would watch the thread on tour.
  bool gather(PoolThread& on_tour) const;
  void end_tour(PoolThread& self);
  /// Another pool has some ready, and a seat, but nobody for them: as long as the thread is on its
  /// way, or if operations are small.
  bool has_queued(const WorkerPool& but) const;
  bool has_tour() const { return touring_.load() != nullptr; }
  bool is_on_tour(const PoolThread& thread) const { return touring_.load() == &thread; }
  void set_tiny(bool are_tiny) {
    if (are_tiny_.load(std::memory_order_relaxed) != are_tiny) are_tiny_.store(are_tiny);
  }

 private:
  static constexpr std::size_t kMaxPools = Tour::kMaxPools;

  std::size_t count() const { return count_.load(); }
  WorkerPool& pool(std::size_t i) const { return *pools_.at(i).load(std::memory_order_relaxed); }
  /// True if `is` is so for one of the other pools.
  template <class Is>
  bool any_but(const WorkerPool& but, Is&& is) const {
    for (std::size_t i = 0; i != count(); ++i) {
      if (&pool(i) != &but && is(pool(i))) return true;
    }
    return false;
  }
  std::size_t awake() const;
  std::uint64_t takes() const;
  bool should_stand_in(WorkerPool& pool) const;
  /// The worker that a pool lacks or awaits, claimed, or null.
  Worker* claim() const;
  bool wait(PoolThread& self);
  bool stand_in(Worker& me, PoolThread& self);
  static bool get_up(PoolThread& self);
  /// Naps as long as others get on with small operations; false if not at all.
  bool watch(PoolThread& self);
  bool may_watch() const { return are_tiny_.load() && awake() != 0; }
  bool goes_on() const;
  bool neglects_one() const;
  /// Somebody has to watch a thread on tour.
  void have_watched() const;
  bool displace_if_stuck(PoolThread* on_tour, const Tour::Look& last);

  std::array<base::Atomic<WorkerPool*>, kMaxPools> pools_{};
  base::Atomic<std::size_t> count_{0};
  base::Atomic<std::size_t> spinning_{0};
  std::vector<std::unique_ptr<PoolThread>> threads_;

  WakePlacement placement_;
  base::Atomic<PoolThread*> touring_{nullptr};
  alignas(64) base::Atomic<std::uint32_t> watching_{0};
  base::Atomic<std::uint32_t> changing_{0};       ///< threads, their workers
  base::Atomic<bool> are_tiny_{false};            ///< the operations that were measured last
  std::array<std::uint64_t, kMaxPools> taken_{};  ///< WorkerPool::takes(); of who watches
};

}  // namespace heddle::detail
