#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/prefetch.h"
#include "engine/base/sync.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// What many threads leave for a WorkerPool: a ring of places, so that who takes from it knows the
/// addresses of several nodes at once and can have them fetched together, and reads lines that who
/// puts writes, but hardly ever the other way round.
///
/// Thread safety: put() and empty() may be called from any thread; is_first() by who has put;
/// take_all() under the pool's lock.
///
/// Invariants:
///  - The numbers from taken_ to put_ - 1, at most kSize, are places that were given to somebody
///    who puts; places_[n % kSize] is marked with lap(n) from when that has put its node there.
///    So who takes finds the nodes without a look at put_, which stays in the cache of who puts.
///  - known_taken_ is an older value of taken_.
///  - put_ and taken_ are sequentially consistent, and who puts reads taken_ after it has raised
///    put_: who takes the nodes before and then finds the inbox empty makes is_first() true.
template <std::size_t kPlaces>
class BasicInbox {
 public:
  static constexpr std::size_t kSize = kPlaces;
  static constexpr std::size_t kFull = static_cast<std::size_t>(-1);

  /// The number of the node's place, or kFull and nothing is done.
  std::size_t put(ReadyNode& node) {
    std::size_t number = put_.load(std::memory_order_relaxed);
    do {
      if (number - known_taken_.load(std::memory_order_relaxed) < kSize) continue;
      known_taken_.store(taken_.load(), std::memory_order_relaxed);
      if (number - known_taken_.load(std::memory_order_relaxed) >= kSize) return kFull;
    } while (!put_.compare_exchange_weak(number, number + 1));
    places_[number % kSize].store(reinterpret_cast<std::uintptr_t>(&node) | lap(number),
                                  std::memory_order_release);
    return number;
  }

  /// True if the node with this number is the next one to be taken.
  bool is_first(std::size_t number) const { return taken_.load() == number; }

  bool empty() const { return put_.load() == taken_.load(); }
  /// As empty(), but may miss what is being put, and takes no line from who puts the next.
  bool seems_empty() const { return !is_put(taken_.load(std::memory_order_relaxed)); }

  /// Calls `take` for the nodes, first come first, up to the first that is still being put.
  template <class Take>
  void take_all(Take&& take) {
    const std::size_t begin = taken_.load(std::memory_order_relaxed);
    std::size_t end = begin;
    for (; is_put(end); ++end) {
      base::prefetch_to_write(node_in(places_[end % kSize].load(std::memory_order_relaxed)));
    }
    for (std::size_t i = begin; i != end; ++i) {
      take(*node_in(places_[i % kSize].load(std::memory_order_relaxed)));
    }
    if (end != begin) taken_.store(end);
  }

 private:
  static std::uintptr_t lap(std::size_t number) { return ~(number / kSize) & 1U; }
  /// True if a node is there: no further than kSize ahead of taken_, where the mark is of the lap
  /// before.
  bool is_put(std::size_t number) const {
    return (places_[number % kSize].load(std::memory_order_acquire) & 1U) == lap(number);
  }
  static ReadyNode* node_in(std::uintptr_t place) {
    return reinterpret_cast<ReadyNode*>(place & ~std::uintptr_t{1});  // NOLINT: as it was put
  }

  alignas(64) base::Atomic<std::size_t> put_{0};
  base::Atomic<std::size_t> known_taken_{0};
  alignas(64) base::Atomic<std::size_t> taken_{0};
  alignas(64) std::array<base::Atomic<std::uintptr_t>, kSize> places_{};
};

using Inbox = BasicInbox<256>;

}  // namespace heddle::detail
