#include "engine/announced_ops.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>

#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

struct Op : detail::Operation {
  Op() { extras = std::make_unique<detail::OperationExtras>(); }
  bool is_announced() const { return extras->announced != 0; }

  /// Written when its place is, which Relacy does not see.
  Plain<int> written{0};
};

/// True if the oldest one goes before an operation with this number.
bool go_before(detail::AnnouncedOps& ops, std::uint64_t sequence) {
  return ops.go_before({.sequence = sequence});
}

/// A thread that pushes operations and then submits them to their lane, and one that is at work
/// there, which knows of no other order between the two than that of what was submitted.
struct Announcing : rl::test_suite<Announcing, 2> {
  static constexpr unsigned kOps = 3;

  struct State {
    detail::AnnouncedOps announced;
    std::array<Op, kOps> ops;
    base::Atomic<unsigned> submitted{0};
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index != 0) return work();
    for (unsigned i = 0; i != kOps; ++i) {
      state->ops[i].written = 1;
      state->ops[i].sequence = i;
      state->announced.add(state->ops[i]);
      // The first two at once, so that the younger one can be removed first.
      if (i != 0) state->submitted.store(i + 1, std::memory_order_release);
    }
  }
  void work() {
    look(0);
    wait_for(2);
    check(go_before(state->announced, 1), "not known, although it was submitted");
    state->announced.remove(state->ops[1]);
    check(go_before(state->announced, 1), "not known any more, although it is still there");
    state->announced.remove(state->ops[0]);
    look(2);
    wait_for(3);
    check(go_before(state->announced, 3), "not known, although it was submitted");
    state->announced.remove(state->ops[2]);
    check(!go_before(state->announced, std::numeric_limits<std::uint64_t>::max()),
          "known when all are gone");
  }
  /// Whether `oldest`, the oldest of those that are there, or will be, is known.
  void look(unsigned oldest) {
    check(!go_before(state->announced, oldest), "one is known that is gone");
    if (!go_before(state->announced, oldest + 1)) return;
    check(state->ops[oldest].written == 1, "known before all is there that was written");
  }
  void wait_for(unsigned count) {
    while (state->submitted.load(std::memory_order_acquire) < count) base::yield();
  }
};

/// All places are in use: a thread pushes on, and one at work in the lane removes the oldest.
struct Reusing : rl::test_suite<Reusing, 2> {
  struct State {
    detail::AnnouncedOps announced;
    Op oldest;
    Op later;
    Op last;
    Plain<int> place{0};  ///< what is in the place of the oldest, which Relacy does not see
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void before() {
    state->announced.add(state->oldest);
    state->later.sequence = 1;
    state->last.sequence = 2;
    for (bool is_full = false; !is_full;) {
      state->later.extras->announced = 0;
      state->announced.add(state->later);
      is_full = !state->later.is_announced();
    }
  }
  void thread(unsigned index) {
    if (index != 0) {
      state->place = 1;
      state->announced.remove(state->oldest);
    } else {
      for (int i = 0; i != 3 && !state->last.is_announced(); ++i) {
        state->announced.add(state->last);
      }
      if (state->last.is_announced()) state->place = 2;
    }
  }
  void after() {
    check(!state->oldest.is_announced(), "announced when it was removed");
    check(!go_before(state->announced, 1), "one is known that is gone");
    check(go_before(state->announced, 2), "the next one is not known");
  }
};

}  // namespace

TEST_CASE("announced operations: the oldest that is left is known, with what its pusher wrote") {
  require_holds<Announcing>(200'000);
}

TEST_CASE("announced operations: a place is used again only when its operation is gone") {
  require_holds<Reusing>(2'000);
}

TEST_CASE("announced operations: every weaker order is found") {
  require_weaker_found<Announcing, Reusing>("engine/announced_ops.h", 2'000);
}

}  // namespace heddle::relacy
