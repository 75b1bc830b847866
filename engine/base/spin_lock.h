#pragma once

#include "engine/base/sync.h"

namespace heddle::base {

/// A mutex of one byte for critical sections of some dozens of instructions, of which there are so
/// many that two threads seldom want the same one: never sleeps, but yields.
///
/// With a sequentially consistent `kOrder` is_held() may be the read of "write, then read": a
/// thread writes, then calls it. Of another one that takes the lock and then misses that write, it
/// sees that it holds the lock, or what it has done under it.
template <std::memory_order kOrder>
class BasicSpinLock {
 public:
  void lock() {
    if (held_.exchange(true, kOrder)) [[unlikely]] {
      wait();
    }
  }
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, kOrder);
  }
  void unlock() { held_.store(false, std::memory_order_release); }
  bool is_held() const { return held_.load(); }

 private:
  static constexpr int kSpins = 64;

  /// Until it is held by who calls.
  [[gnu::noinline]] void wait() {
    while (true) {
      for (int i = 0; i < kSpins; ++i) {
        if (try_lock()) return;
        cpu_relax();
      }
      yield();  // its holder may need this CPU
    }
  }

  Atomic<bool> held_{false};
};

using SpinLock = BasicSpinLock<std::memory_order_acquire>;
using SeenSpinLock = BasicSpinLock<std::memory_order_seq_cst>;

}  // namespace heddle::base
