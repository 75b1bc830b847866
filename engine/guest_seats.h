#pragma once

#include <cstdint>
#include <utility>

#include "engine/base/grain.h"
#include "engine/base/sync.h"

namespace heddle::detail {

/// The seats of a pool that guests have or ask for, and how long guests have been enough.
///
/// That is a *streak*: operations that guests ran one after the other, each while nothing else was
/// there and every worker idle, as where a thread pushes one, waits for it, and pushes the next.
/// Workers that look for work meanwhile find none, but take the lines that this thread needs next.
///
/// Thread safety: members that are const may be called from any thread, all others by who holds the
/// pool's lock.
class GuestSeats {
 public:
  /// Seats that are taken or granted.
  std::uint32_t count() const { return count_.load(); }
  bool has_granted() const { return asked_.load() == Asked::kGranted; }
  /// True if workers had better stay away: the streak is long, and has gone on since the caller has
  /// last `seen` it.
  bool streak_goes_on(std::uint32_t& seen) const {
    const std::uint32_t now = streak_.load(std::memory_order_relaxed);
    return std::exchange(seen, now) != now && now >= base::kLongStreak;
  }

  void take() { count_.fetch_add(1); }
  void leave() { count_.fetch_sub(1); }
  /// False if another guest asks.
  bool ask() {
    if (asked_.load() != Asked::kNothing) return false;
    asked_.store(Asked::kSeat);
    return true;
  }
  bool is_asked() const { return asked_.load(std::memory_order_relaxed) == Asked::kSeat; }
  void grant() {
    asked_.store(Asked::kGranted);
    take();
  }
  void take_granted() { asked_.store(Asked::kNothing); }
  /// Who has asked does not want it any more. True if it was granted.
  bool withdraw() { return asked_.exchange(Asked::kNothing) == Asked::kGranted; }

  /// A guest runs something.
  void continue_streak() {
    streak_.store(streak_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void end_streak() {
    if (streak_.load(std::memory_order_relaxed) != 0) streak_.store(0, std::memory_order_relaxed);
  }

 private:
  enum class Asked : std::uint8_t { kNothing, kSeat, kGranted };

  base::Atomic<std::uint32_t> count_{0};
  base::Atomic<Asked> asked_{Asked::kNothing};
  base::Atomic<std::uint32_t> streak_{0};
};

}  // namespace heddle::detail
