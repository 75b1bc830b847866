#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>

#include "tests/relacy/model.h"

/// Stands in for the header of this name: the engine's sources that are compiled with it run under
/// Relacy, which picks who goes next and which of the values that the memory orders allow a load
/// returns.
namespace heddle::base {

using relacy::Kind;
using relacy::Site;

/// The threads that wait for a change of one atomic, as libstdc++ and Linux keep them: who notifies
/// looks first whether there are any, and the kernel compares and sleeps in one step. Waking up
/// orders nothing here, as C++ does not promise that.
class Sleepers {
 public:
  template <class IsOld>
  void sleep_if(IsOld&& is_old, const rl::debug_info& info) {
    count_.fetch_add(1, rl::mo_seq_cst, info);
    {
      const rl::preemption_disabler in_kernel(rl::ctx());
      kernel_.fetch_add(1, rl::mo_acq_rel, info);
      if (is_old()) {
        threads_[sleeping_++] = rl::ctx().current_thread();
        rl::ctx().park_current_thread(false, false, false, info);
      }
    }
    count_.fetch_sub(1, rl::mo_release, info);
  }
  void wake(bool all, const rl::debug_info& info) {
    if (count_.load(rl::mo_seq_cst, info) == 0) return;
    const rl::preemption_disabler in_kernel(rl::ctx());
    kernel_.fetch_add(1, rl::mo_acq_rel, info);
    while (sleeping_ != 0) {
      std::swap(threads_[rl::rand(static_cast<unsigned>(sleeping_))], threads_[sleeping_ - 1]);
      rl::ctx().unpark_thread(threads_[--sleeping_], false, info);
      if (!all) return;
    }
  }

 private:
  rl::atomic<unsigned> count_{0};
  rl::atomic<unsigned> kernel_{0};
  std::array<rl::thread_id_t, 8> threads_{};
  std::size_t sleeping_ = 0;
};

struct NoSleepers {};

template <class T>
struct RawOf {
  using Type = T;
};
template <class T>
requires std::is_enum_v<T>
struct RawOf<T> {
  using Type = unsigned;  // Relacy prints values
};

template <class T>
class Atomic {
 public:
  Atomic() : Atomic(T{}) {}
  Atomic(T value) : value_(raw(value)) {}  // NOLINT(google-explicit-constructor): as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst, Site site = Site::here()) const {
    return T(value_.load(order_of(Kind::kLoad, order, site), info(site)));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst,
             Site site = Site::here()) {
    value_.store(raw(value), order_of(Kind::kStore, order, site), info(site));
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst,
             Site site = Site::here()) {
    return T(value_.exchange(raw(value), order_of(Kind::kUpdate, order, site), info(site)));
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst,
              Site site = Site::here()) {
    return value_.fetch_add(value, order_of(Kind::kUpdate, order, site), info(site));
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst,
              Site site = Site::here()) {
    return value_.fetch_sub(value, order_of(Kind::kUpdate, order, site), info(site));
  }
  bool compare_exchange_weak(T& expected, T value,
                             std::memory_order order = std::memory_order_seq_cst,
                             Site site = Site::here()) {
    return exchange_if(rl::bool_t<true>(), expected, value, order, site);
  }
  /// The order of a failure is what C++ derives from `order`: weaker than none that is asked for.
  bool compare_exchange_weak(T& expected, T value, std::memory_order order,
                             std::memory_order /*failure*/, Site site = Site::here()) {
    return exchange_if(rl::bool_t<true>(), expected, value, order, site);
  }
  bool compare_exchange_strong(T& expected, T value,
                               std::memory_order order = std::memory_order_seq_cst,
                               Site site = Site::here()) {
    return exchange_if(rl::bool_t<false>(), expected, value, order, site);
  }

  void wait(T old, std::memory_order order = std::memory_order_seq_cst,
            Site site = Site::here()) const {
    while (load(order, site) == old) {
      sleepers_.sleep_if([&] { return value_.load(rl::mo_seq_cst, info(site)) == raw(old); },
                         info(site));
    }
  }
  void notify_one(Site site = Site::here()) { sleepers_.wake(/*all=*/false, info(site)); }
  void notify_all(Site site = Site::here()) { sleepers_.wake(/*all=*/true, info(site)); }

 private:
  using Raw = typename RawOf<T>::Type;

  static Raw raw(T value) { return static_cast<Raw>(value); }
  static rl::memory_order order_of(Kind kind, std::memory_order order, const Site& site) {
    switch (relacy::order_of(kind, order, site)) {
      case std::memory_order_relaxed:
        return rl::mo_relaxed;
      case std::memory_order_consume:
        return rl::mo_consume;
      case std::memory_order_acquire:
        return rl::mo_acquire;
      case std::memory_order_release:
        return rl::mo_release;
      case std::memory_order_acq_rel:
        return rl::mo_acq_rel;
      case std::memory_order_seq_cst:
        break;
    }
    return rl::mo_seq_cst;
  }
  template <class MayFail>
  bool exchange_if(MayFail may_fail, T& expected, T value, std::memory_order order,
                   const Site& site) {
    Raw found = raw(expected);
    const bool done = value_.compare_exchange(may_fail, found, raw(value),
                                              order_of(Kind::kUpdate, order, site), info(site));
    expected = T(found);
    return done;
  }

  rl::atomic<Raw> value_;
  /// libstdc++ waits for other sizes in another way, which the engine does not use.
  // NOLINTNEXTLINE(bugprone-sizeof-expression): of a pointer is meant
  [[no_unique_address]] mutable std::conditional_t<sizeof(T) == sizeof(int), Sleepers, NoSleepers>
      sleepers_;
};

class Mutex {
 public:
  void lock(Site site = Site::here()) { mutex_.lock(info(site)); }
  void unlock(Site site = Site::here()) { mutex_.unlock(info(site)); }
  bool try_lock(Site site = Site::here()) { return mutex_.try_lock(info(site)); }

 private:
  friend class ConditionVariable;
  rl::mutex mutex_;
};

/// Time does not pass: who is not notified sleeps for ever, and the test fails.
class ConditionVariable {
 public:
  void notify_one(Site site = Site::here()) { condition_.notify_one(info(site)); }
  void notify_all(Site site = Site::here()) { condition_.notify_all(info(site)); }
  template <class Until>
  void wait(std::unique_lock<Mutex>& lock, Until until, Site site = Site::here()) {
    while (!until()) condition_.wait(lock.mutex()->mutex_, info(site));
  }
  template <class Duration, class Until>
  bool wait_for(std::unique_lock<Mutex>& lock, Duration /*limit*/, Until until,
                Site site = Site::here()) {
    wait(lock, until, site);
    return true;
  }
  template <class Time, class Until>
  bool wait_until(std::unique_lock<Mutex>& lock, Time /*deadline*/, Until until,
                  Site site = Site::here()) {
    wait(lock, until, site);
    return true;
  }

 private:
  rl::condition_variable condition_;
};

using Thread = std::thread;
using Clock = std::chrono::steady_clock;

inline void yield() { rl::yield(1, relacy::info(Site::here())); }
inline void sleep_for(Clock::duration /*pause*/) { yield(); }
/// Who has yielded sees what is newest: where it can be avoided, in spin loops none does.
inline void cpu_relax() {
  if (!rl::ctx().is_random_sched()) yield();
}

}  // namespace heddle::base
