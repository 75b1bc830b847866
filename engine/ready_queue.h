#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ready_node.h"

namespace heddle::detail {

/// The ready operations of a lane: highest priority first, equal ones in sequence order; one that
/// was overtaken kPatience times goes next, so none starves.
///
/// Most operations arrive in the order in which they leave, so that order is a list, and a heap
/// holds only those that arrive before their turn.
///
/// Thread safety: none; guarded by its owner's lock.
///
/// Invariants:
///  - line_ is sorted by goes_before() and by arrival; heap_ is a binary heap by goes_before().
///  - The list early_oldest_ … early_newest_ holds the nodes of heap_ in order of arrival.
///  - Arrival numbers are counted modulo 2^32, and fewer than 2^31 nodes are in the queue at a
///  time.
///  - When the oldest of all nodes has arrival number a, exactly a earlier nodes have arrived and
///    left, so popped_ - a nodes that came later have overtaken it.
class ReadyQueue {
 public:
  static constexpr std::uint32_t kPatience = 1024;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// True if pop() would go on in the order of arrival.
  bool in_order() const { return heap_.empty(); }
  void push(ReadyNode& node);
  /// Returns what pop() gave, as if it had not been taken.
  void put_back(ReadyNode& node);
  /// The next to run, taken out; null if there is none.
  ReadyNode* pop();

 private:
  ReadyNode& take_first_in_line();
  void push_early(ReadyNode& node);
  void take_early(ReadyNode& node);
  void place(ReadyNode& node, std::size_t index);
  void sift_up(ReadyNode& node, std::size_t index);
  void sift_down(ReadyNode& node, std::size_t index);

  std::size_t size_ = 0;
  ReadyNode* first_in_line_ = nullptr;
  ReadyNode* last_in_line_ = nullptr;
  std::vector<ReadyNode*> heap_;
  ReadyNode* early_oldest_ = nullptr;
  ReadyNode* early_newest_ = nullptr;
  std::uint32_t arrived_ = 0;
  std::uint32_t popped_ = 0;
};

}  // namespace heddle::detail
