#include <atomic>
#include <vector>

#include <immintrin.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "contender.h"

namespace bench::engine {
namespace {

/// The best that is known off the shelf: oneTBB's scheduler, and for each operation a counter of
/// what it waits for and a list of what waits for it.
class TbbTaskGroup final : public Contender {
 public:
  std::string name() const override { return "TBB task_group"; }

  void prepare(const Program& program) override {
    program_ = &program;
    nodes_ = std::vector<Node>(program.operations.size());
  }

  Times run(const Body& body) override {
    for (Node& node : nodes_) node.reset();
    last_.assign(static_cast<std::size_t>(program_->variables), {});
    Times times;
    arena_.execute([&] {
      oneapi::tbb::task_group group;
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t i = 0; i < nodes_.size(); ++i) push(i, body, group);
      times.submit = std::chrono::steady_clock::now() - start;
      group.wait();
      times.total = std::chrono::steady_clock::now() - start;
    });
    return times;
  }

 private:
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
  struct LastUse {
    Node* writer = nullptr;
    std::vector<Node*> readers;
  };

  static void depend(Node& node, Node* earlier) {
    if (earlier == nullptr || earlier == &node) return;
    earlier->lock();
    if (!earlier->done) {
      node.missing.fetch_add(1, std::memory_order_relaxed);
      earlier->next.push_back(&node);
    }
    earlier->unlock();
  }

  void push(std::size_t i, const Body& body, oneapi::tbb::task_group& group) {
    const Operation& operation = program_->operations[i];
    Node& node = nodes_[i];
    for (const int v : operation.reads) {
      LastUse& last = last_[static_cast<std::size_t>(v)];
      depend(node, last.writer);
      last.readers.push_back(&node);
    }
    for (const int v : operation.writes) {
      LastUse& last = last_[static_cast<std::size_t>(v)];
      if (last.readers.empty()) depend(node, last.writer);
      for (Node* reader : last.readers) depend(node, reader);
      last.readers.clear();
      last.writer = &node;
    }
    if (node.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) start(&node, body, group);
  }

  void start(Node* node, const Body& body, oneapi::tbb::task_group& group) {
    group.run([this, node, &body, &group] { execute(node, body, group); });
  }

  /// Runs `node` and then, on this thread, the first that it made ready.
  void execute(Node* node, const Body& body, oneapi::tbb::task_group& group) {
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

  oneapi::tbb::global_control limit_{oneapi::tbb::global_control::max_allowed_parallelism,
                                     kWorkers + 1};
  oneapi::tbb::task_arena arena_{kWorkers + 1};
  const Program* program_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<LastUse> last_;
};

}  // namespace

std::unique_ptr<Contender> make_tbb_task_group() { return std::make_unique<TbbTaskGroup>(); }

}  // namespace bench::engine
