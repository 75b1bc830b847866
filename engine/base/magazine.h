#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace heddle::base {

/// So many objects as change hands between threads at a time.
template <class T>
struct Magazine {
  static constexpr std::size_t kSize = 32;

  std::size_t count = 0;
  std::array<T*, kSize> items;
  Magazine* next = nullptr;
};

/// Magazines that threads have filled for others.
///
/// Thread safety: every member may be called from any thread. They leave all at once, so none can
/// come back while somebody takes it for the top.
template <class T>
class MagazineStack {
 public:
  /// Adds `first` and what is linked behind it.
  void put(Magazine<T>& first) {
    Magazine<T>* last = &first;
    while (last->next != nullptr) last = last->next;
    Magazine<T>* top = top_.load(std::memory_order_relaxed);
    do {
      last->next = top;
    } while (!top_.compare_exchange_weak(top, &first, std::memory_order_release,
                                         std::memory_order_relaxed));
  }

  /// All, linked, or null if there are none.
  Magazine<T>* take_all() {
    if (top_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return top_.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  std::atomic<Magazine<T>*> top_{nullptr};
};

}  // namespace heddle::base
