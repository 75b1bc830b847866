#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/spin_lock.h"
#include "engine/failure.h"

namespace heddle::detail {

struct Epoch;
struct VarState;

/// A thread that waits for a variable or for a generation; lives on that thread's stack.
///
/// Invariants (the lock of its list guards every field but state_: its variable's or that of
/// Generations):
///  - While it is linked in a list its state is kWaiting; who wakes it unlinks it first.
///  - The owner destroys it only after it has held that lock once more, so wake(), which runs under
///    the lock, never touches a dead object.
struct Waiter {
  enum class State : std::uint32_t { kWaiting, kDone, kStopped };

  // What for.
  bool reads_too = false;  ///< of a variable: its reads up to last_sequence as well
  std::uint64_t last_sequence = 0;
  std::uint64_t generation = 0;  ///< of wait_for_all
  Waiter* next = nullptr;
  VarState* var = nullptr;  ///< of wait_for_var
  Epoch* epoch = nullptr;   ///< in whose list it is, if in any

  /// Of the variable, when it was written.
  FailurePtr poison;

  void wake(State state) {
    state_.store(state);  // sequentially consistent: notify_one must not look before it
    state_.notify_one();
  }

  bool woken() const { return state_.load() != State::kWaiting; }

  /// Blocks until wake(). Spins for a moment first: most waits are for something about to end.
  State wait() {
    for (int i = 0; i < kSpins; ++i) {
      const State state = state_.load(std::memory_order_acquire);
      if (state != State::kWaiting) return state;
      base::cpu_relax();
    }
    state_.wait(State::kWaiting, std::memory_order_acquire);
    return state_.load(std::memory_order_acquire);
  }

 private:
  static constexpr int kSpins = 1000;

  std::atomic<State> state_{State::kWaiting};
};

}  // namespace heddle::detail
