#include "engine/async_state.h"

#include <algorithm>
#include <memory>

#include "engine/failure.h"
#include "tests/relacy/simulate.h"
#include "tests/relacy/stub_engine.h"

namespace heddle::relacy {
namespace {

using detail::AsyncState;
using Abandoned = AsyncState::Abandoned;

struct Counted final : AsyncState {
  explicit Counted(std::shared_ptr<StubEngine> owner)
      : AsyncState(std::move(owner), "op", 1, Device()) {}
  void complete(std::exception_ptr error) override { ++(error == nullptr ? successes : failures); }

  int successes = 0;
  int failures = 0;
};

/// A callable that throws, while others, who share its Completion, use it, or do not, and the last
/// of them destroys it.
template <int kUsers, int kIdle>
struct Ending : rl::test_suite<Ending<kUsers, kIdle>, 1 + kUsers + kIdle> {
  std::shared_ptr<StubEngine> engine = std::make_shared<StubEngine>();
  Counted state{engine};
  base::Atomic<int> owners{kUsers + kIdle};
  Abandoned abandoned = Abandoned::kOpen;

  void thread(unsigned index) {
    if (index == 0) {
      abandoned = state.abandon();
    } else {
      if (index <= kUsers) state.use(nullptr);
      if (owners.fetch_sub(1) == 1) state.drop();
    }
  }
  void after() {
    const bool open = abandoned == Abandoned::kOpen;
    check(state.successes + state.failures == (open ? 0 : 1), "not ended by exactly one");
    check(state.successes == (abandoned == Abandoned::kUsed ? 1 : 0), "used, and yet not done");
    check(engine->reports < std::max(kUsers, 1), "reported although it was used once");
  }
};

/// The callable and the completion of an asynchronous operation, each of which leaves something for
/// who ends it: the last, as in ThreadedEngine::OpCompletion::complete() and
/// ThreadedEngine::after_callable().
struct Parts : rl::test_suite<Parts, 2> {
  base::Atomic<int> parts{2};  ///< OperationExtras::parts
  Plain<int> left[2];
  Plain<int> ended{0};

  void thread(unsigned index) {
    left[index] = 1;
    if (parts.fetch_sub(1) != 1) return;
    check(left[0] == 1 && left[1] == 1, "ended before both were done with it");
    ended = ended + 1;
  }
  void after() { check(ended == 1, "not ended once"); }
};

}  // namespace

TEST_CASE("completion: an operation is ended once, by its use, its end or a throw") {
  detail::make_last_resorts();  // kept for ever, which Relacy would take for lost
  require_holds_in_all_orders<Ending<0, 1>>();
  require_holds_in_all_orders<Ending<1, 0>>();
  require_holds_in_all_orders<Ending<1, 1>>();
  require_holds<Ending<2, 0>>(50'000);
}

TEST_CASE("completion: who ends an operation sees what callable and completion have left") {
  require_holds_in_all_orders<Parts>();
  // The engine's own is sequentially consistent; acq_rel is enough.
  require_weaker_found<Parts>("async_state_test.cc", 5'000, {"thread: update seq_cst -> acq_rel"});
}

}  // namespace heddle::relacy
