#pragma once

#include "engine/base/sync.h"

namespace heddle::base {

/// A mutex of one byte for critical sections of some dozens of instructions, of which there are so
/// many that two threads seldom want the same one: never sleeps, but yields.
///
/// If `kOrder`, of what takes it, is sequentially consistent, so is is_held(): who takes it and
/// then misses what another thread has done before it looked here, all of it so, is seen by that
/// look, or what it has done under the lock is.
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
