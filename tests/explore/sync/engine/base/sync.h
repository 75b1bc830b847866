#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "tests/explore/scheduler.h"
#include "tests/explore/thread.h"

// Stands in for the engine's own engine/base/sync.h: the same names, of which each use is a step of
// explore::Scheduler. Outside a schedule they do what one thread needs. Values are plain: one
// fiber runs at a time.

namespace heddle::base {

using explore::Scheduler;

inline void step() {
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->step();
}

inline void wake_one(const void* key) {
  step();
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->wake_one(key);
}
inline void wake_all(const void* key) {
  step();
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->wake_all(key);
}

template <class T>
class Atomic {
 public:
  constexpr Atomic() noexcept : value_() {}
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  using Order = std::memory_order;
  static constexpr Order kSeqCst = std::memory_order_seq_cst;

  T load(Order /*order*/ = kSeqCst) const {
    step();
    return value_;
  }
  void store(T value, Order /*order*/ = kSeqCst) {
    step();
    value_ = value;
  }
  T exchange(T value, Order /*order*/ = kSeqCst) {
    step();
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T desired, Order /*order*/ = kSeqCst,
                               Order /*failure*/ = kSeqCst) {
    step();
    if (value_ == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }
  bool compare_exchange_weak(T& expected, T desired, Order success = kSeqCst,
                             Order failure = kSeqCst) {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T by, Order /*order*/ = kSeqCst) {
    step();
    return std::exchange(value_, static_cast<T>(value_ + by));
  }
  T fetch_sub(T by, Order /*order*/ = kSeqCst) {
    step();
    return std::exchange(value_, static_cast<T>(value_ - by));
  }
  T fetch_or(T bits, Order /*order*/ = kSeqCst) {
    step();
    return std::exchange(value_, static_cast<T>(value_ | bits));
  }

  void wait(T old, Order /*order*/ = kSeqCst) const {
    step();
    while (value_ == old) Scheduler::current()->block(this);
  }
  void notify_one() { wake_one(this); }
  void notify_all() { wake_all(this); }

 private:
  T value_;
};

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() {
    step();
    while (locked_) Scheduler::current()->block(this);
    locked_ = true;
  }
  bool try_lock() {
    step();
    return !std::exchange(locked_, true);
  }
  void unlock() {
    give_back();
    step();
  }

  /// unlock(), which nobody sees before the next step.
  void give_back() {
    locked_ = false;
    if (Scheduler* const scheduler = Scheduler::current()) scheduler->wake_all(this);
  }

 private:
  bool locked_ = false;
};

/// A clock that only the schedule moves.
struct Clock {
  // NOLINTBEGIN(readability-identifier-naming): as std::chrono asks of clocks
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  // NOLINTEND(readability-identifier-naming)

  static time_point now() {
    const Scheduler* const scheduler = Scheduler::current();
    return time_point(duration(scheduler == nullptr ? 1 : 1 + scheduler->now()));
  }
};

class ConditionVariable {
 public:
  ConditionVariable() = default;
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  void notify_one() { wake_one(this); }
  void notify_all() { wake_all(this); }

  void wait(std::unique_lock<Mutex>& lock) { sleep(lock, Scheduler::kForEver); }
  template <class Until>
  void wait(std::unique_lock<Mutex>& lock, Until until) {
    while (!until()) wait(lock);
  }
  std::cv_status wait_until(std::unique_lock<Mutex>& lock, Clock::time_point deadline) {
    const Scheduler::Nanoseconds until = deadline.time_since_epoch().count() - 1;
    const bool is_time = until < Scheduler::kForEver / 2;
    const bool woken = sleep(lock, is_time ? until : Scheduler::kForEver);
    return woken ? std::cv_status::no_timeout : std::cv_status::timeout;
  }
  template <class Until>
  bool wait_until(std::unique_lock<Mutex>& lock, Clock::time_point deadline, Until until) {
    while (!until()) {
      if (wait_until(lock, deadline) == std::cv_status::timeout) return until();
    }
    return true;
  }
  template <class Until>
  bool wait_for(std::unique_lock<Mutex>& lock, Clock::duration time, Until until) {
    return wait_until(lock, Clock::now() + time, until);
  }

 private:
  /// False if the time was over first.
  bool sleep(std::unique_lock<Mutex>& lock, Scheduler::Nanoseconds until) {
    step();
    lock.mutex()->give_back();  // no step follows: nobody can notify before this sleeps
    const bool woken = Scheduler::current()->block(this, until);
    lock.mutex()->lock();
    return woken;
  }
};

using explore::Thread;

inline void yield() {
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->yield();
}
inline void cpu_relax() {
  if (Scheduler* const scheduler = Scheduler::current()) scheduler->relax();
}
inline void sleep_for(Clock::duration pause) {
  Scheduler& scheduler = *Scheduler::current();
  scheduler.block(nullptr, scheduler.now() + pause.count());
}

}  // namespace heddle::base
