#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/ring.h"
#include "engine/base/sync.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// The ready operations of a lane: highest priority first, equal ones in sequence order; one that
/// was overtaken kPatience times goes next, so none starves.
///
/// Most operations arrive in the order in which they leave, so that order is a line, and a heap
/// holds only those that arrive before their turn. Both have all that the order needs: a node is
/// not touched, as to fetch each from memory would take longer than everything else.
///
/// Thread safety: guarded by its owner's lock, but for changes() and overtake().
///
/// Invariants:
///  - line_ is sorted by goes_before() and by arrival. Null stands for nodes that were raised; its
///    front is a node.
///  - early_ holds the nodes that are not in line, in order of arrival but for those that were put
///    back or raised behind older ones, which may be overtaken until these have left; null stands
///    for those that have left from its middle; its front is a node.
///  - heap_ is a heap by goes_before(), as the standard algorithms keep it. Each node of early_ has
///    one entry in it; the others are stale: they name places of early_ before its begin(), are not
///    on top, and are fewer than half but for kFewStale.
///  - When the oldest of all nodes has arrival a, exactly a earlier nodes have arrived and left, so
///    popped_ - a nodes that came later have overtaken it.
///  - Nodes for which there was no memory are in a list, and join the others when there is.
class ReadyQueue {
 public:
  static constexpr std::uint32_t kPatience = 1024;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// Differs from what it was if a node has come since, or was raised; without the lock this may
  /// be a little out of date.
  std::uint32_t changes() const { return changes_.load(std::memory_order_relaxed); }
  /// How many operations that are not here may go next, before the patience of one that is comes to
  /// an end: 0 if the queue is empty.
  std::size_t patience_left();
  /// One goes next. Without the lock.
  void overtake() { overtakers_.fetch_add(1, std::memory_order_relaxed); }
  /// True if take() would go on in the order of arrival.
  bool in_order() const { return early_.empty(); }
  void push(ReadyNode& node) noexcept;
  /// What take() gives next, but for the patience; its node is null if there is nothing.
  ReadyPlace first() const noexcept;
  /// Returns what take() gave, as if it had not been taken.
  void put_back(const ReadyPlace& place) noexcept;
  /// Gives `node`, which came with priority `from`, the higher one `to`. False if it is not here,
  /// or there is no memory for its new place. Takes time in proportion to the nodes that arrived
  /// before their turn.
  bool raise(ReadyNode& node, int from, int to) noexcept;
  /// The next to run, taken out; its node is null if there is none.
  ReadyPlace take() noexcept;
  ReadyNode* pop() noexcept { return take().node; }
  /// What take() gives if it is pushed; only where the queue is empty.
  ReadyPlace pass(ReadyNode& node) noexcept {
    count_overtakers();
    ++popped_;
    return ReadyPlace::of(node, arrived_++);
  }

 private:
  struct Early {
    ReadyNode* node = nullptr;
    std::uint64_t arrival = 0;
  };
  struct HeapEntry {
    std::uint64_t sequence = 0;
    std::uint64_t number = 0;  ///< in early_
    int priority = 0;
  };
  static constexpr std::size_t kFewStale = 64;

  bool add(const ReadyPlace& place) noexcept;
  bool add_early(const ReadyPlace& place) noexcept;
  void spill(ReadyNode& node) noexcept;
  void add_spilled() noexcept;
  ReadyPlace take_spilled() noexcept;
  ReadyPlace take_overdue(bool from_line) noexcept;
  ReadyPlace* find_in_line(const ReadyPlace& place) noexcept;
  ReadyPlace pop_line() noexcept;
  void drop_raised() noexcept;
  ReadyPlace take_first_early() noexcept;
  /// A node has left early_, where its place is null or gone.
  void left_early() noexcept;
  void drop_stale() noexcept;
  void drop_all_stale() noexcept;
  bool is_stale(const HeapEntry& entry) const { return entry.number < early_.begin(); }

  /// Those that have overtaken count as if they had come and left.
  void count_overtakers() {
    const std::uint64_t overtakers = overtakers_.load(std::memory_order_relaxed);
    const std::uint64_t more = overtakers - std::exchange(counted_overtakers_, overtakers);
    popped_ += more;
    arrived_ += more;
  }
  void change() { changes_.store(changes() + 1, std::memory_order_relaxed); }

  std::size_t size_ = 0;
  base::Atomic<std::uint32_t> changes_{0};
  base::Ring<ReadyPlace> line_;
  base::Ring<Early> early_;
  std::size_t early_count_ = 0;  ///< nodes in early_
  std::vector<HeapEntry> heap_;
  ReadyNode* first_spilled_ = nullptr;
  ReadyNode* last_spilled_ = nullptr;
  std::uint64_t arrived_ = 0;
  std::uint64_t popped_ = 0;
  base::Atomic<std::uint64_t> overtakers_{0};
  std::uint64_t counted_overtakers_ = 0;
};

}  // namespace heddle::detail
