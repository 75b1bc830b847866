#pragma once

#include <atomic>
#include <thread>

namespace heddle::base {

/// Tells the CPU that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

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
      std::this_thread::yield();  // its holder may need this CPU
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace heddle::base
