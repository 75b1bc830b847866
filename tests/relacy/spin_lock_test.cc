#include "engine/base/spin_lock.h"

#include <memory>
#include <mutex>

#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

template <int kThreads>
struct Counted : rl::test_suite<Counted<kThreads>, kThreads> {
  base::SpinLock lock;
  Plain<int> count{0};

  void thread(unsigned index) {
    if (index == 0) {
      while (!lock.try_lock()) base::yield();
      const std::lock_guard held(lock, std::adopt_lock);
      count = count + 1;
    } else {
      const std::lock_guard held(lock);
      count = count + 1;
    }
  }
  void after() { check(count == kThreads, "two threads were in at once"); }
};

}  // namespace

TEST_CASE("spin lock: one thread at a time is in, and sees what those before it have written") {
  require_holds<Counted<3>>(50'000);
}

TEST_CASE("spin lock: that holds for two threads in every order of their steps") {
  require_holds_in_all_orders<Counted<2>>();
}

TEST_CASE("spin lock: every weaker order is found") {
  require_weaker_found<Counted<3>>("engine/base/spin_lock.h", 20'000);
}

}  // namespace heddle::relacy
