#pragma once

#include <atomic>
#include <cstdint>

namespace heddle::base {

/// Tells the CPU that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// A mutex for critical sections of some dozens of instructions: one atomic operation to lock and
/// one to unlock when there is no contention, a short spin and then sleep when there is.
///
/// Invariant: state_ is kFree or held; kContended means that somebody may sleep.
class SpinMutex {
 public:
  void lock() {
    std::uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) lock_slow();
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) == kContended) state_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;
  static constexpr int kSpins = 100;

  void lock_slow() {
    for (int i = 0; i < kSpins; ++i) {
      std::uint32_t expected = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree &&
          state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire)) {
        return;
      }
      cpu_relax();
    }
    while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
      state_.wait(kContended, std::memory_order_relaxed);
    }
  }

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace heddle::base
