#include "engine/mailbox.h"

#include <array>
#include <memory>
#include <mutex>

#include "engine/base/spin_lock.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

using detail::Awaited;

struct Op : detail::Operation {
  Plain<int> written{0};
  Plain<bool> taken{false};
};

/// A worker that posts more than its mailbox holds, and takes them itself when it is full, as
/// Ledger::post() does, beside others that take with the lock.
struct Posting : rl::test_suite<Posting, 3> {
  static constexpr std::size_t kPlaces = 2;
  static constexpr unsigned kOps = 5;

  struct State {
    detail::BasicMailbox<kPlaces> mailbox;
    base::SpinLock lock;
    std::array<Op, kOps> ops;
    Plain<unsigned> count{0};
    /// Written and read when the mailbox's places are, which Relacy does not see.
    std::array<Plain<unsigned>, kPlaces> places;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index != 0) return take();
    for (unsigned i = 0; i != kOps; ++i) {
      state->ops[i].written = 1;
      if (state->mailbox.full()) take();
      state->places[i % kPlaces] = i;
      state->mailbox.post(state->ops[i]);
    }
  }
  void after() {
    take();
    check(state->count == kOps, "not all were taken");
  }

  void take() {
    const std::lock_guard held(state->lock);
    state->mailbox.take_all([this](detail::Operation& taken) {
      auto& op = static_cast<Op&>(taken);
      const unsigned count = state->count;
      check(&op == &state->ops[count] && state->places[count % kPlaces] == count,
            "not in the order in which they were posted");
      check(op.written == 1, "not all that the worker wrote is there");
      check(!op.taken, "taken twice");
      op.taken = true;
      state->count = count + 1;
    });
  }
};

/// A worker that posts and then looks for a mark, as Ledger::post() does, and a thread that makes
/// one with the lock and then looks into the mailbox, as Tracker's mark_awaited() and
/// Ledger::begin_wait() do.
struct Marking : rl::test_suite<Marking, 2> {
  struct State {
    detail::BasicMailbox<2> mailbox;
    base::SpinLock lock;
    std::array<Op, 2> ops;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index == 0) {
      for (Op& op : state->ops) {
        state->mailbox.post(op);
        if (op.awaited.load() != Awaited::kNo) take();
      }
    } else {
      state->ops[1].awaited.store(Awaited::kYes);
      take();
    }
  }
  void after() { check(state->ops[1].taken, "posted, awaited, and seen by nobody"); }

  void take() {
    const std::lock_guard held(state->lock);
    state->mailbox.take_all([](detail::Operation& op) { static_cast<Op&>(op).taken = true; });
  }
};

}  // namespace

TEST_CASE("mailbox: what is posted is taken once, in order, with what the worker wrote") {
  require_holds<Posting>(200'000);
}

TEST_CASE("mailbox: who awaits finds the operation, or who posts it finds that it is awaited") {
  require_holds<Marking>(200'000);
}

TEST_CASE("mailbox: every weaker order is found") {
  require_weaker_found<Posting, Marking>("engine/mailbox.h", 20'000);
  require_weaker_found<Marking>("mailbox_test.cc", 20'000);
}

}  // namespace heddle::relacy
