#include "engine/arrivals.h"

#include <array>
#include <memory>
#include <mutex>

#include "engine/base/spin_lock.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

using Arrivals = detail::BasicArrivals<2>;

/// Threads that push some operations each, and one that takes them, until it has all.
template <int kPushers, int kPushes>
struct Exchange : rl::test_suite<Exchange<kPushers, kPushes>, kPushers + 1> {
  struct State {
    Arrivals arrivals;
    base::SpinLock lock;                 ///< of who takes
    Plain<int> pushed{0};                ///< guarded by the arrivals' lock
    std::array<Plain<int>, 16> written;  ///< by number
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index != kPushers) {
      for (int i = 0; i != kPushes; ++i) push();
      return;
    }
    for (int count = 0; count != kPushers * kPushes;) {
      if (state->arrivals.seems_empty()) base::yield();
      const std::lock_guard held(state->lock);
      take(count);
    }
    check(state->arrivals.has_taken(kPushers * kPushes), "not taken when all are taken");
  }
  void push() {
    const std::lock_guard held(state->arrivals.lock());
    detail::Arrival& arrival = state->arrivals.next();
    const int number = state->pushed;
    state->written[static_cast<unsigned>(number)] = 1;
    arrival.sequence = static_cast<std::uint64_t>(number);
    state->arrivals.publish();
    state->pushed = number + 1;
  }
  void take(int& count) {
    for (std::uint64_t left = state->arrivals.size(); left != 0; --left) {
      const detail::Arrival& arrival = state->arrivals.front();
      check(arrival.sequence == static_cast<std::uint64_t>(count), "not in the order of numbers");
      check(state->written[static_cast<unsigned>(count)] == 1, "not all that was written is there");
      state->arrivals.pop();
      ++count;
    }
    state->arrivals.end_taking();
  }
};

/// A thread that pushes an operation and looks whether somebody sleeps, and one that looks for the
/// last time whether there is one: see WorkerPool, whose sleeping workers are `asleep` here.
struct LastLook : rl::test_suite<LastLook, 2> {
  struct State {
    Arrivals arrivals;
    base::Atomic<std::uint32_t> asleep{0};
    bool woken = false;
    bool seen = false;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void thread(unsigned index) {
    if (index == 0) {
      {
        const std::lock_guard held(state->arrivals.lock());
        state->arrivals.next();
        state->arrivals.publish();
      }
      state->woken = state->asleep.load() != 0;
    } else {
      state->asleep.fetch_add(1);
      state->seen = !state->arrivals.empty();
    }
  }
  void after() { check(state->woken || state->seen, "slept beside a push"); }
};

}  // namespace

TEST_CASE("arrivals: what is pushed is taken once, in order, with what its pusher wrote") {
  require_holds<Exchange<2, 4>>(100'000);
  require_holds<Exchange<3, 2>>(100'000);
}

TEST_CASE("arrivals: who looks for the last time sees a push, or its pusher sees who sleeps") {
  require_holds<LastLook>(200'000);
  require_holds_in_all_orders<LastLook>();
}

TEST_CASE("arrivals: every weaker order is found") {
  require_weaker_found<LastLook>("engine/base/spin_lock.h", 20'000);
  require_weaker_found<Exchange<1, 6>, LastLook>(
      "engine/arrivals.h", 20'000,
      {
          // These keep the places of a chunk from being filled while they are still being read, and
          // Relacy does not watch them.
          "unused: update acquire -> relaxed",
          "give_back: update release -> relaxed",
      });
}

}  // namespace heddle::relacy
