#pragma once

#include <cstdint>

namespace heddle::detail {

/// A place in a ReadyQueue.
struct ReadyNode {
  int priority = 0;
  bool is_operation = true;  ///< else a piece of a stream's work
  std::uint64_t sequence = 0;

  // Of the queue.
  std::uint32_t arrival = 0;  ///< modulo 2^32
  std::uint32_t heap_index = 0;
  ReadyNode* older = nullptr;
  ReadyNode* newer = nullptr;  ///< also the next one in a ReadyList
};

/// The order of a lane.
inline bool goes_before(const ReadyNode& a, const ReadyNode& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
}

}  // namespace heddle::detail
