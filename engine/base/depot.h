#pragma once

#include <atomic>

namespace heddle::base {

/// Items, linked by their `next`, that threads leave for others. `Top` is an atomic Item*.
///
/// Thread safety: every member may be called from any thread. Items leave all at once, so none can
/// come back while somebody takes it for the top.
template <class Item, class Top = std::atomic<Item*>>
class Depot {
 public:
  /// Adds `first` and what is linked behind it.
  void put(Item& first) {
    Item* last = &first;
    while (last->next != nullptr) last = last->next;
    Item* top = top_.load(std::memory_order_relaxed);
    do {
      last->next = top;
    } while (!top_.compare_exchange_weak(top, &first, std::memory_order_release,
                                         std::memory_order_relaxed));
  }

  /// All, linked, or null if there are none.
  Item* take_all() {
    if (top_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return top_.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  Top top_{nullptr};
};

}  // namespace heddle::base
