#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/base/sync.h"
#include "engine/waiter.h"

namespace heddle::detail {

/// Counts pending operations by the wait_for_all() calls that cover them. An operation pushed from
/// outside belongs to the newest generation, one pushed by an operation to that one's; a wait
/// closes the newest generation and ends when all closed ones are empty. So a wait covers what was
/// pushed before it and all that follows from that, but not what others push meanwhile.
///
/// Thread safety: guarded by its owner's lock, but for first_uncovered().
///
/// Invariants:
///  - newest_pending_ operations of the newest generation have not ended, and closed_[i] of
///    generation oldest_ + i; newest_ is oldest_ + closed_.size().
///  - Who adds to a closed generation is an operation of it, so an empty one stays empty.
class Generations {
 public:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t newest() const { return newest_; }
  void add(std::uint64_t generation, std::size_t count = 1) { pending(generation) += count; }
  void end(std::uint64_t generation, std::size_t count = 1) {
    std::size_t& left = pending(generation);
    left -= count;
    if (left == 0 && generation == oldest_) drop_empty();
  }

  /// Registers a waiter for all that is pending; it is woken when that has ended. False, and not
  /// registered, if nothing is pending.
  bool begin_wait(Waiter& waiter);
  /// Wakes all waiters: nothing further will end.
  void stop();

  /// The first generation that some waiter does not wait for. Who has ended an operation must
  /// report it before running one of this or a newer generation: that may take any time.
  std::uint64_t first_uncovered() const { return first_uncovered_.load(); }

 private:
  std::size_t& pending(std::uint64_t generation) {
    return generation == newest_ ? newest_pending_ : closed_[generation - oldest_];
  }
  void drop_empty();
  void wake(std::uint64_t below, Waiter::State state);
  void announce();

  std::uint64_t newest_ = 0;
  std::uint64_t oldest_ = 0;
  std::size_t newest_pending_ = 0;
  std::vector<std::size_t> closed_;  ///< oldest first; few
  Waiter* waiters_ = nullptr;
  alignas(64) base::Atomic<std::uint64_t> first_uncovered_{kNone};  ///< written under the lock
};

}  // namespace heddle::detail
