#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/sync.h"
#include "engine/operation.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// Operations of a stream's lane that are pushed and wait for something to end: the oldest is
/// known.
///
/// Thread safety: add() is called by one thread at a time, with the ledger's lock; the rest by one
/// thread at a time, with the lane's.
///
/// Invariants: places begin_ to end_ have what was added and not removed, in the order of the
/// sequence numbers, and some that were removed, but not at the front. add() writes a place before
/// it moves end_, and only one that begin_ has passed (release, acquire).
class AnnouncedOps {
 public:
  AnnouncedOps() : places_(kMost) {}

  /// Where too many are there already it is as if it had not been pushed yet.
  void add(Operation& op) {
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    if (end - seen_begin_ == kMost) seen_begin_ = begin_.load(std::memory_order_acquire);
    if (end - seen_begin_ == kMost) return;
    places_[end % kMost] = {op.sequence, op.priority(), false};
    op.extras->announced = end + 1;
    end_.store(end + 1, std::memory_order_release);
  }
  /// If it was added.
  void remove(Operation& op) {
    if (op.extras->announced == 0) return;
    places_[(op.extras->announced - 1) % kMost].is_gone = true;
    op.extras->announced = 0;
    std::uint64_t begin = begin_.load(std::memory_order_relaxed);
    while (has(begin) && places_[begin % kMost].is_gone) ++begin;
    begin_.store(begin, std::memory_order_release);
  }
  /// True if the oldest of them goes before `place`.
  bool go_before(const ReadyPlace& place) {
    const std::uint64_t begin = begin_.load(std::memory_order_relaxed);
    return has(begin) && goes_before(places_[begin % kMost], place);
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Place {
    std::uint64_t sequence = 0;
    int priority = 0;
    bool is_gone = false;
  };

  /// Of who removes: looks at end_, which the other thread writes, only when there is need.
  bool has(std::uint64_t place) {
    if (place == seen_end_) seen_end_ = end_.load(std::memory_order_acquire);
    return place != seen_end_;
  }

  std::vector<Place> places_;
  alignas(64) base::Atomic<std::uint64_t> end_{0};
  std::uint64_t seen_begin_ = 0;
  alignas(64) base::Atomic<std::uint64_t> begin_{0};
  std::uint64_t seen_end_ = 0;
};

}  // namespace heddle::detail
