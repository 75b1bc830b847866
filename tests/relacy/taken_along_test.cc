#include "engine/taken_along.h"

#include <memory>
#include <mutex>

#include "engine/base/spin_lock.h"
#include "engine/inbox.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

using detail::BasicInbox;
using detail::TakenAlong;

/// A worker that takes something along and, while it does so, somebody who brings what goes before
/// that: as of its number, which counts with one worker only, or its priority.
template <bool kByNumber>
struct Overtaken : rl::test_suite<Overtaken<kByNumber>, 2> {
  static constexpr std::uint64_t kBrought = 5;
  static constexpr std::uint64_t kTaken = 10;

  struct State {
    BasicInbox<2> inbox;
    TakenAlong taken{/*order_is_exact=*/kByNumber};
    base::SpinLock lock;  ///< the pool's
    detail::ReadyNode node;
    bool was_there = false;
    TakenAlong::Mark mark = 0;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void before() {
    state->node.sequence = kBrought;
    state->taken.tell(0, 0);  // the last ones were of the same priority
  }
  void thread(unsigned index) { index == 0 ? put() : take(); }

  void put() {
    state->inbox.put(state->node);
    if (state->taken.is_urgent(0, kBrought)) state->taken.call_back();
  }
  void take() {
    const std::lock_guard held(state->lock);
    state->mark = state->taken.begin();
    state->inbox.take_all([this](detail::ReadyNode& /*node*/) { state->was_there = true; });
    if (state->taken.tell(kByNumber ? 0 : -1, kTaken) && !state->inbox.empty()) --state->mark;
  }
  void after() {
    check(state->was_there || !state->taken.is_current(state->mark), "taken along is not returned");
  }
};

}  // namespace

TEST_CASE("taken along: what goes before it is there, or it is called back") {
  require_holds<Overtaken<true>>(200'000);
  require_holds<Overtaken<false>>(200'000);
}

TEST_CASE("taken along: the vital orders are found if they are weaker") {
  require_vital_found<Overtaken<true>, Overtaken<false>>(
      "engine/taken_along.h", 50'000,
      {"tell: store seq_cst -> release", "is_urgent: load seq_cst -> acquire",
       "is_urgent: load seq_cst -> acquire (2)"});
}

}  // namespace heddle::relacy
