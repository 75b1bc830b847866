#pragma once

#include <array>
#include <cstddef>

#include "engine/base/sync.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// What a worker has taken along, to run one after the other.
///
/// Thread safety: its worker's own, but for has_some(), first_left(), steal() and remove(), which
/// any thread may call.
///
/// Invariants: places_[i] is what has gone into nodes_[i], for i from next_ to count_ - 1; whoever
/// exchanges a node out of nodes_ has it, and leaves null. From count_ on all are null. add() is
/// called with the pool's lock: without that others may miss something.
class Batch {
 public:
  static constexpr std::size_t kMost = 64;

  bool empty() const { return next_ == count(); }
  /// Only where the one before is empty.
  void begin() {
    next_ = 0;
    set_count(0);
  }
  void add(const ReadyPlace& place) {
    const std::size_t i = count();
    places_[i] = place;
    nodes_[i].store(place.node, std::memory_order_release);
    set_count(i + 1);
  }
  /// What was added last.
  const ReadyPlace& last() const { return places_[count() - 1]; }
  /// What pop() probably gives; only if drop_stolen() says that there is something.
  const ReadyPlace& first() const { return places_[next_]; }
  bool drop_stolen() {
    while (!empty() && nodes_[next_].load() == nullptr) ++next_;
    return !empty();
  }
  /// The next one, or null.
  ReadyNode* pop() {
    while (!empty()) {
      if (ReadyNode* const node = nodes_[next_++].exchange(nullptr)) return node;
    }
    begin();
    return nullptr;
  }
  /// Calls `put` for what is left, the last first.
  template <class Put>
  void give_back(Put&& put) {
    for (std::size_t i = count(); i-- > next_;) {
      if (nodes_[i].exchange(nullptr) != nullptr) put(places_[i]);
    }
    begin();
  }

  /// Something could be stolen.
  bool has_some() const { return first_left() != nullptr; }
  /// The first one, for a hint; null if there is none.
  const ReadyNode* first_left() const {
    for (std::size_t i = 0, end = count(); i != end; ++i) {
      if (const ReadyNode* const left = nodes_[i].load(std::memory_order_relaxed)) return left;
    }
    return nullptr;
  }
  /// The last one, or null.
  ReadyNode* steal() {
    for (std::size_t i = count(); i-- > 0;) {
      if (nodes_[i].load(std::memory_order_relaxed) == nullptr) continue;
      if (ReadyNode* const node = nodes_[i].exchange(nullptr, std::memory_order_acquire)) {
        return node;
      }
    }
    return nullptr;
  }
  /// False if it is not here.
  bool remove(ReadyNode& node) {
    for (std::size_t i = 0, end = count(); i != end; ++i) {
      ReadyNode* expected = &node;
      if (nodes_[i].compare_exchange_strong(expected, nullptr)) return true;
    }
    return false;
  }

 private:
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  void set_count(std::size_t count) { count_.store(count, std::memory_order_relaxed); }

  std::array<base::Atomic<ReadyNode*>, kMost> nodes_{};
  std::array<ReadyPlace, kMost> places_{};
  std::size_t next_ = 0;
  base::Atomic<std::size_t> count_{0};
};

}  // namespace heddle::detail
