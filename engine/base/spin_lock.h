#pragma once

#include "engine/base/sync.h"

namespace heddle::base {

/// A mutex of one byte for critical sections of some dozens of instructions, of which there are so
/// many that two threads seldom want the same one: never sleeps, but yields.
class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  bool try_lock() {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 64;

  void wait() const {
    while (true) {
      for (int i = 0; i < kSpins; ++i) {
        if (!held_.load(std::memory_order_relaxed)) return;
        cpu_relax();
      }
      yield();  // its holder may need this CPU
    }
  }

  Atomic<bool> held_{false};
};

}  // namespace heddle::base
