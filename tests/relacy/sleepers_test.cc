#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/inbox.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

using detail::ReadyNode;
using Inbox = detail::BasicInbox<2>;

/// How WorkerPool's workers fall asleep and are woken: the functions have the names, the atomic
/// operations and the orders of WorkerPool's and IdleWorkers'. What is left out: batches, spins,
/// naps, and other pools (see pool_group_test.cc).
class Pool {
 public:
  struct Thread {
    base::Atomic<std::uint32_t> woken{0};
  };

  void put(ReadyNode& node) {
    const std::size_t number = inbox_.put(node);
    Thread* woken = nullptr;
    if (number == Inbox::kFull) {
      const std::lock_guard lock(mutex_);
      empty_inbox();
      queue_.push_back(&node);
      woken = claim_sleeper();
    }
    if (number != Inbox::kFull && sleeping_.load() != 0 && inbox_.is_first(number)) {
      const std::lock_guard lock(mutex_);
      woken = claim_sleeper();
    }
    wake(woken);
  }

  /// Null once the pool is being stopped.
  ReadyNode* search(Thread& self) {
    std::unique_lock lock(mutex_);
    bool searching = false;
    bool has_spun = false;
    for (;;) {
      const bool has_seat = idle() + (searching ? 0 : 1) > guests_;
      ReadyNode* const node = has_seat ? take() : nullptr;
      if (node != nullptr || stopping_.load()) {
        if (searching) searching_.fetch_sub(1);
        Thread* const woken = claim_sleeper();
        lock.unlock();
        wake(woken);
        return node;
      }
      if (has_seat && has_queue_.load(std::memory_order_relaxed)) has_queue_.store(false);
      if (!has_spun) {
        if (!std::exchange(searching, true)) searching_.fetch_add(1);
        lock.unlock();
        has_spun = true;
        lock.lock();
        continue;
      }
      sleeping_.fetch_add(1);
      if (std::exchange(searching, false)) searching_.fetch_sub(1);
      if (has_seat && !inbox_.empty()) {
        sleeping_.fetch_sub(1);
        lock.unlock();
        base::yield();
        lock.lock();
        continue;
      }
      asleep_.push_back(&self);
      lock.unlock();
      sleep(self);
      lock.lock();
      searching = true;
      has_spun = false;
    }
  }

  /// Null if there is no node, or no free seat.
  ReadyNode* take_for_guest() {
    Thread* woken = nullptr;
    ReadyNode* node = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (idle() > guests_) node = take();
      if (node != nullptr) ++guests_;
      woken = claim_sleeper();
    }
    wake(woken);
    return node;
  }
  void leave_seat() {
    Thread* woken = nullptr;
    {
      const std::lock_guard lock(mutex_);
      --guests_;
      woken = claim_sleeper();
    }
    wake(woken);
  }

  template <std::size_t kThreads>
  void stop(std::array<Thread, kThreads>& threads) {
    stopping_.store(true);
    for (Thread& thread : threads) wake(&thread);
  }

 private:
  void empty_inbox() {
    inbox_.take_all([this](ReadyNode& node) { queue_.push_back(&node); });
  }

  ReadyNode* take() {
    empty_inbox();
    if (queue_.empty()) return nullptr;
    ReadyNode* const node = queue_.front();
    queue_.erase(queue_.begin());
    return node;
  }

  std::uint32_t idle() const { return sleeping_.load() + searching_.load(); }

  Thread* claim_sleeper() {
    const bool has_queue = !queue_.empty();
    if (has_queue_.load(std::memory_order_relaxed) != has_queue) has_queue_.store(has_queue);
    if (sleeping_.load() == 0 || searching_.load() != 0) return nullptr;
    if (asleep_.empty() || !(!inbox_.empty() || has_queue_.load())) return nullptr;
    if (idle() <= guests_) return nullptr;
    Thread* const thread = asleep_.back();
    asleep_.pop_back();
    sleeping_.fetch_sub(1);
    searching_.fetch_add(1);
    return thread;
  }

  static void sleep(Thread& self) {
    while (self.woken.load() == 0) self.woken.wait(0);
    self.woken.store(0);
  }
  static void wake(Thread* claimed) {
    if (claimed == nullptr) return;
    claimed->woken.store(1);
    claimed->woken.notify_one();
  }

  Inbox inbox_;
  base::SpinLock mutex_;
  std::vector<ReadyNode*> queue_;
  std::vector<Thread*> asleep_;
  std::uint32_t guests_ = 0;
  base::Atomic<bool> has_queue_{false};
  base::Atomic<bool> stopping_{false};
  base::Atomic<std::uint32_t> searching_{0};
  base::Atomic<std::uint32_t> sleeping_{0};
};

struct Node : ReadyNode {
  Plain<int> written{0};
};

/// Threads that put some nodes each, and workers that run them all. With `kMeet`, who runs one
/// waits until all workers do, as operations that need each other may: so each node needs a worker.
template <int kPutters, int kNodes, int kWorkers, bool kMeet = false>
struct Working : rl::test_suite<Working<kPutters, kNodes, kWorkers, kMeet>, kPutters + kWorkers> {
  static constexpr int kAll = kPutters * kNodes;

  struct State {
    Pool pool;
    std::array<Pool::Thread, kWorkers> threads;
    std::array<std::array<Node, kNodes>, kPutters> nodes;
    base::Atomic<int> left{kAll};
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index >= kPutters) return work(state->threads[index - kPutters]);
    for (Node& node : state->nodes[index]) {
      node.written = 1;
      state->pool.put(node);
    }
  }
  void work(Pool::Thread& self) {
    while (auto* const node = static_cast<Node*>(state->pool.search(self))) {
      check(node->written == 1, "not all that the putter wrote is there");
      const int left = state->left.fetch_sub(1) - 1;
      if (left == 0) {
        state->left.notify_all();
        state->pool.stop(state->threads);
      } else if (kMeet) {
        for (int now = left; now != 0; now = state->left.load()) state->left.wait(now);
      }
    }
  }
};

/// The same with one worker and a guest, who looks once: together they run all, one at a time.
template <int kNodes>
struct Visiting : rl::test_suite<Visiting<kNodes>, 3> {
  struct State {
    Pool pool;
    std::array<Pool::Thread, 1> threads;
    std::array<Node, kNodes> nodes;
    base::Atomic<int> left{kNodes};
    Plain<int> running{0};
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index == 0) {
      for (Node& node : state->nodes) {
        node.written = 1;
        state->pool.put(node);
      }
    } else if (index == 1) {
      while (auto* const node = static_cast<Node*>(state->pool.search(state->threads[0]))) {
        run(*node);
      }
    } else if (auto* const node = static_cast<Node*>(state->pool.take_for_guest())) {
      run(*node);
      state->pool.leave_seat();
    }
  }
  void run(Node& node) {
    check(node.written == 1, "not all that the putter wrote is there");
    state->running = state->running + 1;
    if (state->left.fetch_sub(1) == 1) state->pool.stop(state->threads);
  }
};

/// How an end that somebody waits for is deferred while every worker is busy: see may_defer(),
/// collect_deferred(), next() and search() of WorkerPool, and DeferredEnds; without naps. The first
/// worker defers the end of one operation, if it may, and its next one goes on until that end is
/// taken note of; the second runs short ones and then searches. The post is Mailbox's and the lock
/// the Ledger's.
struct Deferring : rl::test_suite<Deferring, 2> {
  base::Atomic<std::int64_t> since{0};  ///< DeferredEnds::since_
  base::Atomic<std::uint32_t> searching{0};
  base::Atomic<std::uint32_t> sleeping{0};
  base::Atomic<std::uint32_t> posted{0};  ///< Mailbox::posted_
  base::SpinLock ledger;
  base::Atomic<std::uint32_t> noted{0};

  void thread(unsigned index) {
    if (index == 0) {
      posted.fetch_add(1);
      if (!may_defer()) collect();
      noted.wait(0);
    } else {
      if (since.load(std::memory_order_relaxed) != 0) collect_deferred();  // are_overdue()
      search();
    }
  }

  bool may_defer() {
    if (since.load() == 0) since.store(1);
    return searching.load() == 0 && sleeping.load() == 0;
  }
  void search() {
    searching.fetch_add(1);
    collect_deferred();
    collect();  // has_collected
    sleeping.fetch_add(1);
    searching.fetch_sub(1);
  }
  void collect_deferred() {
    if (since.exchange(0) != 0) collect();
  }
  void collect() {
    const std::lock_guard lock(ledger);
    if (posted.load() == 0 || noted.load() != 0) return;
    noted.store(1);
    noted.notify_all();
  }
};

}  // namespace

TEST_CASE("sleepers: no worker sleeps beside a node, as long as nobody searches") {
  require_holds<Working<1, 3, 1>>(100'000);
  require_holds<Working<2, 1, 1>>(100'000);
  require_holds<Working<2, 2, 2>>(100'000);
}

TEST_CASE("sleepers: no node is left behind by a guest who runs one instead of the worker") {
  require_holds<Visiting<1>>(100'000);
  require_holds<Visiting<3>>(100'000);
}

TEST_CASE("sleepers: operations that need each other get a worker each") {
  require_holds<Working<1, 2, 2, true>>(100'000);
  require_holds<Working<2, 1, 2, true>>(100'000);
}

TEST_CASE("sleepers: an end that is deferred is taken note of by who becomes idle") {
  require_holds<Deferring>(200'000);
}

TEST_CASE("sleepers: the orders on which this depends are found if they are weaker") {
  // Who puts reads sleeping_, and who falls asleep counts itself there.
  require_vital_found<Working<2, 1, 1>, Working<1, 2, 2, true>, Working<2, 1, 2, true>>(
      "relacy/sleepers_test.cc", 100'000,
      {"put: load seq_cst -> acquire", "put: load seq_cst -> relaxed",
       "search: update seq_cst -> acq_rel (3)", "search: update seq_cst -> relaxed (3)"});
  // searching_. The exchange in DeferredEnds::take() reads what is newest, so less would do
  // elsewhere.
  require_vital_found<Deferring>("relacy/sleepers_test.cc", 50'000,
                                 {"may_defer: load seq_cst -> relaxed (2)"});
}

}  // namespace heddle::relacy
