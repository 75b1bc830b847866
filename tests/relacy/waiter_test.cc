#include "engine/waiter.h"

#include <memory>
#include <mutex>

#include "engine/base/spin_lock.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

using detail::Waiter;

/// A thread that waits, and one that wakes it with the lock, as Tracker and Generations do: at any
/// moment, or only when the waiting one is about to sleep.
template <bool kLate>
struct Waking : rl::test_suite<Waking<kLate>, 2> {
  /// In Waiter::wait(), the last look before the sleep.
  static constexpr int kLastLook = 16;

  base::SpinLock lock;
  Plain<int> written{0};
  std::unique_ptr<Waiter> waiter = std::make_unique<Waiter>();
  rl::atomic<bool> looked{false};  ///< orders nothing

  void thread(unsigned index) {
    if (index == 0) {
      wait();
    } else {
      while (kLate && !looked.load(rl::mo_relaxed, {})) rl::yield(1, {});
      const std::lock_guard held(lock);
      written = 1;
      waiter->wake(Waiter::State::kDone);
    }
  }

  void wait() {
    int looks = 0;
    const auto state = waiter->wait([&] {
      if (++looks == kLastLook) looked.store(true, rl::mo_relaxed, {});
      return false;
    });
    check(written == 1, "not all that happened before the wake-up is there");
    check(state == Waiter::State::kDone, "woken for nothing");
    { const std::lock_guard held(lock); }
    waiter.reset();  // who is still in wake() would be noticed
  }
};

}  // namespace

TEST_CASE("waiter: who is woken wakes up, and sees what was done before") {
  require_holds<Waking<false>>(200'000);
}

TEST_CASE("waiter: who falls asleep while it is woken wakes up") {
  require_holds<Waking<true>>(10'000);
}

TEST_CASE("waiter: every weaker order is found") {
  require_weaker_found<Waking<false>, Waking<true>>("engine/waiter.h", 3'000,
                                                    {
                                                        // Each of the two does for the other.
                                                        "wait: load acquire -> relaxed (2)",
                                                        "wait: load acquire -> relaxed (3)",
                                                    });
}

}  // namespace heddle::relacy
