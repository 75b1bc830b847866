#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/base/thread_group.h"

namespace heddle::base {

/// Objects that many threads have done with and few take back, in magazines of kSize: who takes
/// one knows the addresses of the next objects, and can have them fetched from the cache of the
/// thread that used them last.
///
/// Thread safety: put() and take() may be called from any thread.
template <class T>
class Magazines {
 public:
  static constexpr std::size_t kSize = 32;
  struct Magazine {
    std::size_t count = 0;
    std::array<T*, kSize> items;
    Magazine* next = nullptr;
  };

  Magazines() = default;
  /// Deletes the objects that are left.
  ~Magazines() {
    for (Group& group : groups_) delete_all(group.filling);
    delete_all(full_.load());
  }
  Magazines(const Magazines&) = delete;
  Magazines& operator=(const Magazines&) = delete;

  /// Does not throw: without memory for a magazine the object is deleted.
  void put(T& object) noexcept {
    Group& group = groups_[thread_group()];
    const std::lock_guard lock(group.lock);
    if (group.filling == nullptr) {
      group.filling = new (std::nothrow) Magazine;
      if (group.filling == nullptr) return delete &object;
    }
    group.filling->items[group.filling->count++] = &object;
    if (group.filling->count == kSize) push_full(*std::exchange(group.filling, nullptr));
  }

  /// Full magazines, linked, or null if there are none. The caller owns them.
  Magazine* take() {
    if (full_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return full_.exchange(nullptr, std::memory_order_acquire);
  }

  static void delete_all(Magazine* first) {
    while (first != nullptr) {
      for (std::size_t i = 0; i < first->count; ++i) delete first->items[i];
      delete std::exchange(first, first->next);
    }
  }

 private:
  struct alignas(64) Group {
    SpinLock lock;
    Magazine* filling = nullptr;
  };

  /// Full magazines leave all at once, so none can come back while somebody takes it for the top.
  void push_full(Magazine& magazine) {
    Magazine* below = full_.load(std::memory_order_relaxed);
    do {
      magazine.next = below;
    } while (!full_.compare_exchange_weak(below, &magazine, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  std::array<Group, kThreadGroups> groups_;
  alignas(64) std::atomic<Magazine*> full_{nullptr};
};

/// What one thread at a time takes from Magazines.
///
/// Thread safety: none.
template <class T>
class Supply {
 public:
  explicit Supply(Magazines<T>& source) : source_(source) {}
  ~Supply() { Magazines<T>::delete_all(first_); }
  Supply(const Supply&) = delete;
  Supply& operator=(const Supply&) = delete;

  /// An object as put() left it, or a new one. Throws std::bad_alloc.
  T* take() {
    if (first_ != nullptr && first_->count == 0) delete std::exchange(first_, first_->next);
    if (first_ == nullptr) first_ = source_.take();
    if (first_ == nullptr) return new T;
    T* const object = first_->items[--first_->count];
    if (first_->count >= kAhead) prefetch(first_->items[first_->count - kAhead]);
    return object;
  }
  /// Takes an object back.
  void put(T& object) {
    if (first_ != nullptr && first_->count < Magazines<T>::kSize) {
      first_->items[first_->count++] = &object;
    } else {
      source_.put(object);
    }
  }

 private:
  static constexpr std::size_t kAhead = 4;

  static void prefetch(T* object) {
    const auto* line = reinterpret_cast<const char*>(object);
    for (std::size_t i = 0; i < T::kHotBytes; i += 64) __builtin_prefetch(line + i, 1);
  }

  Magazines<T>& source_;
  typename Magazines<T>::Magazine* first_ = nullptr;
};

}  // namespace heddle::base
