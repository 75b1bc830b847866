#include "engine/inbox.h"

#include <array>
#include <memory>
#include <mutex>

#include "engine/base/spin_lock.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

struct Node : detail::ReadyNode {
  Plain<int> written{0};
  Plain<bool> taken{false};
  unsigned putter = 0;
};

/// Threads that put some nodes each into an inbox with fewer places, and one that takes them, until
/// it has all. Who finds it full takes them, too, as WorkerPool::put() does.
template <int kPutters, int kNodes, std::size_t kPlaces>
struct Exchange : rl::test_suite<Exchange<kPutters, kNodes, kPlaces>, kPutters + 1> {
  using Inbox = detail::BasicInbox<kPlaces>;

  struct State {
    Inbox inbox;
    base::SpinLock lock;  ///< guards what follows
    std::array<Plain<int>, kPutters> last;
    Plain<int> count{0};
    std::array<std::array<Node, kNodes>, kPutters> nodes;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void before() {
    for (unsigned putter = 0; putter != kPutters; ++putter) {
      state->last[putter] = -1;
      for (unsigned i = 0; i != kNodes; ++i) {
        state->nodes[putter][i].putter = putter;
        state->nodes[putter][i].sequence = i;
      }
    }
  }

  void thread(unsigned index) {
    if (index != kPutters) return put_all(index);
    for (bool done = false; !done;) {
      if (state->inbox.seems_empty()) base::yield();
      const std::lock_guard held(state->lock);
      take();
      done = state->count == kPutters * kNodes;
    }
    check(state->inbox.empty() && state->inbox.seems_empty(), "not empty when all are taken");
  }

  void put_all(unsigned putter) {
    for (unsigned i = 0; i != kNodes; ++i) {
      Node& node = state->nodes[putter][i];
      node.written = 1;
      if (state->inbox.put(node) != Inbox::kFull) continue;
      const std::lock_guard held(state->lock);
      take();
      note(node);  // perhaps before older ones, which wait for one that is still being put
    }
  }

  void take() {
    state->inbox.take_all([this](detail::ReadyNode& node) {
      auto& taken = static_cast<Node&>(node);
      note(taken);
      Plain<int>& last = state->last[taken.putter];
      check(static_cast<int>(node.sequence) > last, "not in the order of its putter");
      last = static_cast<int>(node.sequence);
    });
  }

  void note(Node& node) {
    check(node.written == 1, "not all that the putter wrote is there");
    check(!node.taken, "taken twice");
    node.taken = true;
    state->count = state->count + 1;
  }
};

/// A thread that puts two nodes and looks whether they are first, and one that looks for the last
/// time whether there is one: see WorkerPool, whose sleeping_ is `asleep` here.
struct LastLook : rl::test_suite<LastLook, 2> {
  using Inbox = detail::BasicInbox<2>;

  struct State {
    Inbox inbox;
    base::Atomic<std::uint32_t> asleep{0};
    Node node;
    Node next;
    bool woken = false;
    bool seen = false;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index == 0) {
      for (Node* const node : {&state->node, &state->next}) {
        const std::size_t number = state->inbox.put(*node);
        if (state->asleep.load() != 0 && state->inbox.is_first(number)) state->woken = true;
      }
    } else {
      state->inbox.take_all([](detail::ReadyNode& /*node*/) {});
      state->asleep.fetch_add(1);
      state->seen = !state->inbox.empty();
    }
  }
  void after() {
    check(state->woken || state->seen || state->inbox.empty(), "slept beside a node");
  }
};

}  // namespace

TEST_CASE("inbox: what is put is taken once, in order, with what its putter wrote") {
  require_holds<Exchange<2, 3, 2>>(400'000);
  require_holds<Exchange<3, 2, 3>>(200'000);
}

TEST_CASE("inbox: who looks for the last time finds a node, or its putter finds it the first") {
  require_holds<LastLook>(200'000);
  require_holds_in_all_orders<LastLook>();
}

TEST_CASE("inbox: every weaker order is found") {
  require_weaker_found<Exchange<2, 3, 2>, LastLook>(
      "engine/inbox.h", 20'000,
      {
          // What it allows is a store to a place that has been read before taken_ was written, and
          // Relacy has no loads that read what is stored later.
          "put: load seq_cst -> acquire",
          "put: load seq_cst -> relaxed",
          // Who asks has read that somebody sleeps, and that came after the store.
          "is_first: load seq_cst -> acquire",
          "is_first: load seq_cst -> relaxed",
          "take_all: store seq_cst -> release",
          "take_all: store seq_cst -> relaxed",
      });
}

}  // namespace heddle::relacy
