#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/magazine.h"
#include "engine/base/spin_lock.h"
#include "engine/base/thread_group.h"

namespace heddle::base {

/// Objects that many threads have done with and few take back, in magazines: who takes
/// one knows the addresses of the next objects, and can have them fetched from the cache of the
/// thread that used them last.
///
/// Thread safety: put() and take() may be called from any thread.
template <class T>
class Magazines {
 public:
  Magazines() = default;
  /// Deletes the objects that are left.
  ~Magazines() {
    for (Group& group : groups_) delete_all(group.filling);
    delete_all(full_.take_all());
  }
  Magazines(const Magazines&) = delete;
  Magazines& operator=(const Magazines&) = delete;

  /// Does not throw: without memory for a magazine the object is deleted.
  void put(T& object) noexcept {
    Group& group = groups_[thread_group()];
    const std::lock_guard lock(group.lock);
    if (group.filling == nullptr) {
      group.filling = new (std::nothrow) Magazine<T>;
      if (group.filling == nullptr) return delete &object;
    }
    group.filling->items[group.filling->count++] = &object;
    if (group.filling->count == Magazine<T>::kSize) {
      full_.put(*std::exchange(group.filling, nullptr));
    }
  }

  /// Full magazines, linked, or null if there are none. The caller owns them.
  Magazine<T>* take() { return full_.take_all(); }

  static void delete_all(Magazine<T>* first) {
    while (first != nullptr) {
      for (std::size_t i = 0; i < first->count; ++i) delete first->items[i];
      delete std::exchange(first, first->next);
    }
  }

 private:
  struct alignas(64) Group {
    SpinLock lock;
    Magazine<T>* filling = nullptr;
  };

  std::array<Group, kThreadGroups> groups_;
  alignas(64) MagazineStack<T> full_;
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
    if (first_ != nullptr && first_->count < Magazine<T>::kSize) {
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
  Magazine<T>* first_ = nullptr;
};

}  // namespace heddle::base
