#include <utility>

#include "heddle/cancel.h"
#include "heddle/var.h"

#include "engine/var_state.h"
#include "tests/relacy/blocks.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

/// Threads that have a reference each, copy it, use the state and let both go: as handles of a
/// variable, and the engine, which has one while operations are pending.
struct Holders : rl::test_suite<Holders, 3> {
  static inline Holders* current = nullptr;

  Plain<int> used{0};  ///< read with a reference, written by who destroys
  Plain<int> destroyed{0};
  detail::VarState* state = new detail::VarState(1, "v");

  void before() {
    current = this;
    call_before_free([] {
      current->used = 1;
      current->destroyed = current->destroyed + 1;
    });
    detail::retain(state);
    detail::retain(state);
  }
  void thread(unsigned index) {
    if (index != 0) detail::retain(state);
    check(used == 0, "destroyed while there is a reference");
    if (index != 0) detail::release(state);
    check(used == 0, "destroyed while there is a reference");
    detail::release(state);
  }
  void after() {
    check(destroyed == 1, "not destroyed once");
    call_before_free(nullptr);
  }
};

/// A thread that cancels a group, one that looks, and handles that go in both.
struct Cancelling : rl::test_suite<Cancelling, 2> {
  Plain<int> written{0};
  CancelSource source;
  CancelToken token = source.token();

  void thread(unsigned index) {
    if (index == 0) {
      written = 1;
      CancelSource last = std::exchange(source, CancelSource());
      last.cancel();
    } else {
      const CancelToken last = std::move(token);
      if (last.cancelled()) check(written == 1, "not all that was written before is there");
    }
  }
};

}  // namespace

TEST_CASE("references: the last that goes destroys the state, once, when all uses are over") {
  require_holds<Holders>(200'000);
}

TEST_CASE("references: who sees that a group is cancelled sees what was written before") {
  require_holds<Cancelling>(200'000);
}

TEST_CASE("references: every weaker order is found") {
  require_weaker_found<Holders>("engine/var_state.cc", 20'000);
  // Relacy does not take the end of an atomic for a use of it, and there is nothing else to race.
  require_weaker_found<Cancelling>(
      "engine/cancel.cc", 20'000,
      {"release: update acq_rel -> acquire", "release: update acq_rel -> release",
       "release: update acq_rel -> relaxed"});
}

}  // namespace heddle::relacy
