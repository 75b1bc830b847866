#include <cstdint>
#include <utility>

#include "heddle/cancel.h"
#include "heddle/var.h"

#include "engine/var_state.h"
#include "tests/relacy/blocks.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

/// Threads that have a handle of a variable each, copy it, use the state and let both go; and an
/// engine that ends the accesses that a push has named, one at a time.
struct Holders : rl::test_suite<Holders, 3> {
  static constexpr std::uint64_t kAccesses = 2;
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
  }
  void thread(unsigned index) {
    if (index == 2) return end_accesses();
    if (index == 1) {
      detail::retain(state);
      state->named = kAccesses;  // by who pushes
    }
    check(used == 0, "destroyed while there is a handle");
    if (index == 1) detail::release(state);
    check(used == 0, "destroyed while there is a handle");
    detail::release(state);
  }
  void end_accesses() {
    for (std::uint64_t i = 0; i != kAccesses; ++i) {
      check(used == 0, "destroyed while an access has not ended");
      detail::settle(*state, 1);
    }
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
