#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/base/spin_lock.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

/// How the threads of PoolGroup stand in for each other, in two pools of one worker each: the
/// functions have the names, the atomic operations and the orders of PoolGroup's, WorkerPool's and
/// IdleWorkers'. What is left out: what kind of work it is, batches, guests, and tours.
class Group {
 public:
  struct Pool;
  struct Thread;
  struct Worker {
    Pool* pool = nullptr;
    Plain<Thread*> self{nullptr};
    Plain<bool> is_asleep{false};
    Plain<bool> is_coming{false};
  };
  struct Pool {
    base::SpinLock mutex;
    Worker worker;
    base::Atomic<std::uint32_t> work{0};
    base::Atomic<std::uint32_t> sleeping{0};
    base::Atomic<std::uint32_t> searching{0};
    base::Atomic<std::uint32_t> coming{0};
  };
  struct Thread {
    base::Atomic<Worker*> worker{nullptr};
    base::Atomic<std::uint32_t> woken{0};
    bool is_searching = false;
  };
  static constexpr std::size_t kPools = 2;

  explicit Group(bool watches) : watches_(watches) {
    for (std::size_t i = 0; i < kPools; ++i) {
      pools_[i].worker.pool = &pools_[i];
      pools_[i].worker.self = &threads_[i];
      threads_[i].worker.store(&pools_[i].worker);
    }
  }

  Pool& pool(std::size_t i) { return pools_[i]; }
  Thread& thread(std::size_t i) { return threads_[i]; }

  void put(Pool& pool) {
    pool.work.fetch_add(1);
    if (pool.sleeping.load() != 0) help(pool);
  }

  /// Takes a piece of work as one of the thread's workers; false once all is stopped.
  bool search(Thread& self) {
    for (;;) {
      Worker& me = *self.worker.load();
      Pool& pool = *me.pool;
      std::unique_lock lock(pool.mutex);
      bool searching = std::exchange(self.is_searching, false);
      for (bool has_spun = false;;) {
        if (stopping_.load()) return false;
        if (pool.work.load() != 0) {
          pool.work.fetch_sub(1);
          if (searching) pool.searching.fetch_sub(1);
          lock.unlock();
          if (searching) hand_over(pool);
          return true;
        }
        if (!std::exchange(has_spun, true)) {
          if (!std::exchange(searching, true)) pool.searching.fetch_add(1);
          lock.unlock();
          lock.lock();
          continue;
        }
        if (try_sleep(me, lock, std::exchange(searching, false))) break;
      }
      sleep(me, self);
    }
  }

  void stop() {
    for (Pool& pool : pools_) {
      const std::lock_guard lock(pool.mutex);
      stopping_.store(true);
      count_coming(pool.worker, false);  // nobody is recalled any more
    }
    for (Thread& self : threads_) wake(self);
  }

 private:
  bool try_sleep(Worker& me, std::unique_lock<base::SpinLock>& lock, bool searching) {
    Pool& pool = *me.pool;
    changing_.fetch_add(1);
    pool.sleeping.fetch_add(1);
    if (searching) pool.searching.fetch_sub(1);
    if (pool.work.load() != 0) {
      pool.sleeping.fetch_sub(1);
      changing_.fetch_sub(1);
      lock.unlock();
      if (searching) hand_over(pool);
      lock.lock();
      return false;
    }
    me.is_asleep = true;
    lock.unlock();
    return true;
  }

  void sleep(Worker& me, Thread& self) {
    const bool is_another = stand_in(me, self);
    changing_.fetch_sub(1);
    if (is_another || stand_in(me, self)) return;
    do {
      if (watch() && get_up(self)) return;
      while (self.woken.load() == 0) self.woken.wait(0);
    } while (self.woken.exchange(0) == 0);
    self.is_searching = true;
    Worker& worker = *self.worker.load();
    const std::lock_guard lock(worker.pool->mutex);
    count_coming(worker, false);
  }

  bool stand_in(Worker& me, Thread& self) {
    Worker* const lacking = claim();
    if (lacking == nullptr) return false;
    Thread& other = *lacking->self;
    self.is_searching = true;
    if (&other == &self) return true;
    {
      const std::lock_guard lock(me.pool->mutex);
      if (me.is_asleep && me.self == &self) {
        me.self = &other;
        other.worker.store(&me);
        lacking->self = &self;
        self.worker.store(lacking);
        return true;
      }
    }
    {
      const std::lock_guard lock(lacking->pool->mutex);
      count_coming(*lacking, true);
    }
    wake(other);
    return false;
  }

  bool get_up(Thread& self) {
    for (;;) {
      Worker& worker = *self.worker.load();
      const std::lock_guard lock(worker.pool->mutex);
      if (!worker.is_asleep) return false;
      if (worker.self != &self) continue;
      get_up(worker);
      self.is_searching = true;
      return true;
    }
  }

  bool watch() {
    if (!watches_ || awake() == 0) return false;
    std::uint32_t nobody = 0;
    if (!watching_.compare_exchange_strong(nobody, 1)) return false;
    watching_.store(0);
    return true;
  }

  void hand_over(const Pool& pool) {
    for (Pool& other : pools_) {
      if (&other != &pool && lacks_worker(other)) help(other);
    }
  }
  void help(Pool& pool) {
    Worker* woken = nullptr;
    {
      const std::lock_guard lock(pool.mutex);
      if (lack_searcher(pool) && !is_looked_after(pool)) woken = claim_one(pool);
      if (woken != nullptr) count_coming(*woken, true);
    }
    if (woken != nullptr) wake(*woken->self);
  }
  Worker* claim() {
    for (Pool& other : pools_) {
      if (!awaits_worker(other) && !lacks_worker(other)) continue;
      const std::lock_guard lock(other.mutex);
      Worker* const worker = lack_searcher(other) ? claim_one(other) : recall(other);
      if (worker != nullptr) return worker;
    }
    return nullptr;
  }
  static Worker* recall(Pool& pool) {
    Worker& worker = pool.worker;
    std::uint32_t woken = 1;
    if (!awaits_worker(pool) || !worker.is_coming) return nullptr;
    Thread& self = *worker.self;
    if (!self.woken.compare_exchange_strong(woken, 0)) return nullptr;
    count_coming(worker, false);
    return &worker;
  }
  static void count_coming(Worker& worker, bool is_coming) {
    worker.is_coming = is_coming;
    worker.pool->coming.store(is_coming ? 1 : 0);
  }
  static Worker* claim_one(Pool& pool) {
    if (!pool.worker.is_asleep || pool.work.load() == 0) return nullptr;
    get_up(pool.worker);
    return &pool.worker;
  }
  static void get_up(Worker& worker) {
    worker.is_asleep = false;
    worker.pool->sleeping.fetch_sub(1);
    worker.pool->searching.fetch_add(1);
  }
  static void wake(Thread& self) {
    self.woken.store(1);
    self.woken.notify_one();
  }

  static bool lack_searcher(const Pool& pool) {
    return pool.sleeping.load() != 0 && pool.searching.load() == 0;
  }
  static bool lacks_worker(const Pool& pool) {
    return lack_searcher(pool) && pool.work.load() != 0;
  }
  static bool awaits_worker(const Pool& pool) {
    if (pool.coming.load(std::memory_order_relaxed) == 0) return false;
    return pool.searching.load() <= pool.coming.load() && pool.work.load() != 0;
  }
  bool is_looked_after(const Pool& pool) const {
    if (changing_.load() != 0) return true;
    if (watching_.load() != 0 && awake() != 0) return true;
    for (const Pool& other : pools_) {
      if (&other != &pool && other.searching.load() > other.coming.load()) return true;
    }
    return false;
  }
  std::uint32_t awake() const {
    std::uint32_t awake = changing_.load();
    for (const Pool& pool : pools_) awake += 1 - pool.sleeping.load();
    return awake;
  }

  const bool watches_;
  std::array<Pool, kPools> pools_;
  std::array<Thread, kPools> threads_;
  base::Atomic<std::uint32_t> watching_{0};
  base::Atomic<std::uint32_t> changing_{0};
  base::Atomic<bool> stopping_{false};
};

/// One thread puts so much work into each pool, in turns, and two threads run it. With
/// `kMeet`, who runs some waits until all of it is being run: so each piece needs a worker.
template <int kFirst, int kSecond, bool kMeet, bool kWatch>
struct Lanes : rl::test_suite<Lanes<kFirst, kSecond, kMeet, kWatch>, 3> {
  struct State {
    Group group{kWatch};
    base::Atomic<int> left{kFirst + kSecond};
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    Group& group = state->group;
    if (index == 2) {
      for (int i = 0; i < std::max(kFirst, kSecond); ++i) {
        if (i < kFirst) group.put(group.pool(0));
        if (i < kSecond) group.put(group.pool(1));
      }
      return;
    }
    while (group.search(group.thread(index))) run();
  }
  void run() {
    const int left = state->left.fetch_sub(1) - 1;
    if (left == 0) {
      state->left.notify_all();
      state->group.stop();
    } else if (kMeet) {
      for (int now = left; now != 0; now = state->left.load()) state->left.wait(now);
    }
  }
};

}  // namespace

TEST_CASE("pool group: no pool is left with work while all threads sleep") {
  require_holds<Lanes<2, 1, false, false>>(100'000);
  require_holds<Lanes<0, 3, false, true>>(100'000);
  require_holds<Lanes<2, 2, false, true>>(100'000);
}

TEST_CASE("pool group: operations of two lanes that need each other get a thread each") {
  require_holds<Lanes<1, 1, true, false>>(200'000);
  require_holds<Lanes<1, 1, true, true>>(200'000);
}

TEST_CASE("pool group: the orders on which this depends are found if they are weaker") {
  // Who puts work into a pool, and then looks for a thread; who lies down, or is no more about to
  // be another worker, and then looks for work; what who recalls a worker knows of it; and wake(),
  // as that libstdc++ looks whether somebody waits.
  require_vital_found<Lanes<2, 1, false, false>, Lanes<2, 2, false, true>, Lanes<1, 1, true, false>,
                      Lanes<1, 1, true, true>>(
      "relacy/pool_group_test.cc", 100'000,
      {"put: update seq_cst -> acq_rel", "put: load seq_cst -> acquire",
       "try_sleep: update seq_cst -> acq_rel (2)", "sleep: update seq_cst -> acq_rel",
       "recall: update seq_cst -> release", "lacks_worker: load seq_cst -> acquire",
       "is_looked_after: load seq_cst -> acquire", "wake: store seq_cst -> release"});
}

}  // namespace heddle::relacy
