#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/spin_lock.h"
#include "engine/base/sync.h"
#include "engine/failure.h"

namespace heddle::detail {

struct Access;

/// A thread that waits for a variable or for a generation; lives on that thread's stack.
///
/// Invariants (the engine's lock guards every field but state_):
///  - While it is linked in a list its state is kWaiting; who wakes it unlinks it first.
///  - The owner destroys it only after it has held that lock once more, so wake(), which runs under
///    the lock, never touches a dead object.
struct Waiter {
  enum class State : std::uint32_t { kWaiting, kDone, kStopped };

  Waiter* next = nullptr;

  // For a variable: the accesses that it waits for.
  const Access* write = nullptr;    ///< just this write,
  std::uint64_t last_sequence = 0;  ///< or, without one, all of operations up to this one
  std::size_t left = 0;             ///< how many have not ended
  FailurePtr poison;                ///< of the variable, when they had

  /// For everything: the newest generation that it waits for.
  std::uint64_t generation = 0;

  void wake(State state) {
    state_.store(state);  // sequentially consistent: notify_one must not look before it
    state_.notify_one();
  }

  bool woken() const { return state_.load() != State::kWaiting; }

  /// Blocks until wake(). Spins for a moment first, as most waits are for something about to end,
  /// and calls `look` now and then: for longer while that returns true.
  template <class Look>
  State wait(Look&& look) {
    for (int i = 0; i < kLooks;) {
      for (int spin = 0; spin < kSpins; ++spin) {
        const State state = state_.load(std::memory_order_acquire);
        if (state != State::kWaiting) return state;
        base::cpu_relax();
      }
      i = look() ? 0 : i + 1;
    }
    state_.wait(State::kWaiting, std::memory_order_acquire);
    return state_.load(std::memory_order_acquire);
  }

 private:
  static constexpr int kSpins = 64;
  static constexpr int kLooks = 16;

  base::Atomic<State> state_{State::kWaiting};
};

}  // namespace heddle::detail
