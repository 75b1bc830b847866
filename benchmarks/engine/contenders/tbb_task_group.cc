#include <atomic>
#include <mutex>

#include <immintrin.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "contenders/contenders.h"
#include "contenders/gate.h"
#include "contenders/last_uses.h"
#include "contenders/timing.h"

namespace bench::engine {
namespace {

using oneapi::tbb::task_group;

/// The best that is known off the shelf: oneTBB's scheduler, and for each operation a counter of
/// what it waits for and a list of what waits for it. The thread that waits runs operations, too.
///
/// Who was last is guarded by a lock if several threads push.
class TbbTaskGroup final : public Contender {
 public:
  explicit TbbTaskGroup(const Settings& settings)
      : workers_(settings.workers),
        limit_(oneapi::tbb::global_control::max_allowed_parallelism,
               static_cast<std::size_t>(settings.workers) + 1),
        arena_(settings.workers + kMostPushers, kMostPushers) {}

  bool can_run(const Program& program) const override {
    return program.pushers <= kMostPushers && !program.large_callables;
  }
  bool can_hold() const override { return true; }

  void prepare(const Program& program) override {
    program_ = &program;
    nodes_.clear();
    nodes_.shrink_to_fit();
  }

  Times run(const Body& body) override {
    task_group group;
    return run(body, group, {}, [] {});
  }

  Times run_held(const Body& body, const Moments& moments) override {
    task_group group;
    Gate gate(workers_);
    arena_.execute([&] {
      for (int i = 0; i < workers_; ++i) group.run([&gate] { gate.block(); });
    });
    gate.wait_for_workers();
    return run(body, group, moments, [&gate] { gate.open(); });
  }

  std::vector<std::chrono::nanoseconds> round_trips(const Body& body,
                                                    const RoundTrips& trips) override {
    std::vector<std::chrono::nanoseconds> times;
    arena_.execute([&] {
      task_group group;
      reset();
      times = time_round_trips(trips, [&] {
        nodes_[0].reset();
        push(0, body, group);
        group.wait();
      });
    });
    return times;
  }

 private:
  static constexpr int kMostPushers = 2;

  struct Node {
    std::atomic<int> missing{1};
    std::atomic<bool> locked{false};
    bool done = false;
    std::vector<Node*> next;

    void reset() {
      missing.store(1, std::memory_order_relaxed);
      done = false;
      next.clear();
    }
    void lock() {
      while (locked.exchange(true, std::memory_order_acquire)) {
        while (locked.load(std::memory_order_relaxed)) _mm_pause();
      }
    }
    void unlock() { locked.store(false, std::memory_order_release); }
  };

  void reset() {
    if (nodes_.empty()) nodes_ = std::vector<Node>(program_->operations.size());
    for (Node& node : nodes_) node.reset();
    last_uses_.reset(program_->variables);
  }

  template <class Start>
  Times run(const Body& body, task_group& group, Moments moments, const Start& start) {
    const auto wait = [&] {
      start();
      arena_.execute([&] { group.wait(); });
    };
    if (moments.before_pushes) moments.before_pushes();
    moments.before_pushes = {};
    reset();  // allocates in the first run
    return time_run(
        *program_, moments, [&](std::size_t i) { push(i, body, group); }, wait,
        [&](const auto& function) { arena_.execute(function); });
  }

  static void depend(Node& node, Node& earlier) {
    if (&earlier == &node) return;
    const std::lock_guard lock(earlier);
    if (earlier.done) return;
    node.missing.fetch_add(1, std::memory_order_relaxed);
    earlier.next.push_back(&node);
  }

  void push(std::size_t i, const Body& body, task_group& group) {
    Node& node = nodes_[i];
    {
      std::unique_lock lock(pushing_, std::defer_lock);
      if (program_->pushers > 1) lock.lock();
      last_uses_.add(node, program_->operations[i],
                     [&node](Node& earlier) { depend(node, earlier); });
    }
    if (node.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) start(&node, body, group);
  }

  void start(Node* node, const Body& body, task_group& group) {
    group.run([this, node, &body, &group] { execute(node, body, group); });
  }

  /// Runs `node` and then, on this thread, the first that it made ready.
  void execute(Node* node, const Body& body, task_group& group) {
    while (node != nullptr) {
      body.run(static_cast<std::size_t>(node - nodes_.data()));
      node->lock();
      node->done = true;
      node->unlock();
      Node* first = nullptr;
      for (Node* next : node->next) {
        if (next->missing.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (first == nullptr) {
          first = next;
        } else {
          start(next, body, group);
        }
      }
      node = first;
    }
  }

  int workers_;
  oneapi::tbb::global_control limit_;
  oneapi::tbb::task_arena arena_;
  const Program* program_ = nullptr;
  std::vector<Node> nodes_;
  oneapi::tbb::spin_mutex pushing_;
  LastUses<Node> last_uses_;  ///< guarded by it if several threads push
};

}  // namespace

std::unique_ptr<Contender> make_tbb_task_group(const Settings& settings) {
  return std::make_unique<TbbTaskGroup>(settings);
}

}  // namespace bench::engine
