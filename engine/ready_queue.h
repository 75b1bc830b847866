#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/operation.h"

namespace heddle::detail {

/// The ready operations of a lane: highest priority first, equal ones in sequence order; one that
/// was overtaken kPatience times goes next, so none starves.
///
/// Thread safety: none; guarded by its owner's lock.
///
/// Invariants:
///  - heap_ is a binary heap by before(); heap_[n->heap_index] == n.
///  - The list oldest_ … newest_ holds the same nodes in order of arrival. When oldest_ has arrival
///    number a, exactly a earlier nodes have arrived and left, so popped_ - a nodes that came
///    later have overtaken it.
class ReadyQueue {
 public:
  static constexpr std::uint64_t kPatience = 1024;

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  void push(ReadyNode& node);
  /// The next to run, taken out; null if there is none.
  ReadyNode* pop();

 private:
  static bool before(const ReadyNode& a, const ReadyNode& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
  }
  void place(ReadyNode& node, std::size_t index);
  void sift_up(ReadyNode& node, std::size_t index);
  void sift_down(ReadyNode& node, std::size_t index);

  std::vector<ReadyNode*> heap_;
  ReadyNode* oldest_ = nullptr;
  ReadyNode* newest_ = nullptr;
  std::uint64_t arrived_ = 0;
  std::uint64_t popped_ = 0;
};

}  // namespace heddle::detail
