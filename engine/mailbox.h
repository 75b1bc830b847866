#pragma once

#include <array>
#include <cstddef>

#include "engine/base/sync.h"
#include "engine/fetch_ahead.h"
#include "engine/operation.h"

namespace heddle::detail {

/// Operations that one worker has ended and the Ledger has not yet taken note of.
///
/// Thread safety: post() and full() belong to the worker, take_all() to who holds the Ledger's
/// lock.
///
/// Invariants:
///  - places_[i % kSize] holds an operation for every i from taken_ to posted_ - 1, at most kSize.
///  - posted_ is sequentially consistent: who makes a mark that is so too, and then misses an
///    operation in take_all(), has the mark seen by who posts that operation and then looks for it.
template <std::size_t kPlaces>
class alignas(64) BasicMailbox {
 public:
  static constexpr std::size_t kSize = kPlaces;

  bool full() {
    const std::size_t posted = posted_.load(std::memory_order_relaxed);
    if (posted - known_taken_ < kSize) return false;
    known_taken_ = taken_.load(std::memory_order_acquire);
    return posted - known_taken_ == kSize;
  }
  void post(Operation& op) {
    places_[posted_.load(std::memory_order_relaxed) % kSize] = &op;
    posted_.fetch_add(1);
  }

  /// Calls `take` for each operation, oldest first. Before that, as most of what ends an operation
  /// is to wait for memory, lets it come at once for all of them: theirs, then what stands beside
  /// their accesses, then the operations of that.
  template <class Take>
  void take_all(Take&& take) {
    const std::size_t end = posted_.load();
    const std::size_t begin = taken_.load(std::memory_order_relaxed);
    if (begin == end) return;
    for_each(begin, end, [](Operation& op) { fetch_to_end(op); });
    if (end - begin >= kWorthPrefetching) {
      for_each(begin, end, [](Operation& op) { fetch_neighbours(op); });
      for_each(begin, end, [](Operation& op) { fetch_operations_behind(op); });
    }
    for_each(begin, end, take);
    taken_.store(end, std::memory_order_release);
  }
  /// The same for the worker itself, which still has them in its cache.
  template <class Take>
  void take_own(Take&& take) {
    const std::size_t end = posted_.load(std::memory_order_relaxed);
    for_each(taken_.load(std::memory_order_relaxed), end, take);
    taken_.store(end, std::memory_order_release);
  }

 private:
  template <class Visit>
  void for_each(std::size_t begin, std::size_t end, Visit&& visit) {
    for (std::size_t i = begin; i != end; ++i) visit(*places_[i % kSize]);
  }

  static constexpr std::size_t kWorthPrefetching = 3;

  base::Atomic<std::size_t> posted_{0};
  std::size_t known_taken_ = 0;  ///< an older value of taken_, of the worker
  std::array<Operation*, kSize> places_{};
  alignas(64) base::Atomic<std::size_t> taken_{0};
};

using Mailbox = BasicMailbox<512>;

}  // namespace heddle::detail
