#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/ready_node.h"

namespace heddle::detail {

/// What many threads leave for a WorkerPool: a ring of places, so that who takes from it knows the
/// addresses of several nodes at once and can have them fetched together.
///
/// Thread safety: put() and empty() may be called from any thread; take_all() under the pool's
/// lock.
///
/// Invariants:
///  - The numbers from taken_ to put_ - 1, at most kSize, are places that were given to somebody
///    who puts; places_[n % kSize] is null until that has put its node there.
///  - put_ and taken_ are sequentially consistent, and who puts reads taken_ after it has raised
///    put_: who takes the nodes before and then finds the inbox empty makes it kFirst.
class Inbox {
 public:
  static constexpr std::size_t kSize = 256;

  enum class Put : std::uint8_t { kFull, kFirst, kFurther };

  /// Does nothing if the inbox is full. kFirst: all that came before has been taken.
  Put put(ReadyNode& node) {
    std::size_t number = put_.load(std::memory_order_relaxed);
    do {
      if (number - taken_.load() >= kSize) return Put::kFull;
    } while (!put_.compare_exchange_weak(number, number + 1));
    places_[number % kSize].store(&node, std::memory_order_release);
    return taken_.load() == number ? Put::kFirst : Put::kFurther;
  }

  bool empty() const { return put_.load() == taken_.load(); }

  /// Calls `take` for the nodes, first come first, up to the first that is still being put.
  template <class Take>
  void take_all(Take&& take) {
    std::size_t number = taken_.load(std::memory_order_relaxed);
    const std::size_t end = put_.load();
    if (number == end) return;
    for (std::size_t i = number; i != end; ++i) {
      __builtin_prefetch(places_[i % kSize].load(std::memory_order_relaxed), 1);
    }
    for (; number != end; ++number) {
      std::atomic<ReadyNode*>& place = places_[number % kSize];
      ReadyNode* const node = place.load(std::memory_order_acquire);
      if (node == nullptr) break;
      place.store(nullptr, std::memory_order_relaxed);
      take(*node);
    }
    taken_.store(number);
  }

 private:
  alignas(64) std::atomic<std::size_t> put_{0};
  alignas(64) std::atomic<std::size_t> taken_{0};
  alignas(64) std::array<std::atomic<ReadyNode*>, kSize> places_{};
};

}  // namespace heddle::detail
