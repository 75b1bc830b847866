#pragma once

#include <cstdint>

#include "engine/base/sync.h"

namespace heddle::detail {

/// What a ReadyQueue holds.
struct ReadyNode {
  enum class Type : std::uint8_t {
    kOperation,
    kWork,   ///< a piece of a stream's work
    kGraph,  ///< an operation of a GraphRun
    kStretch,
  };

  ReadyNode* newer = nullptr;  ///< the next one in a list
  std::uint64_t sequence = 0;

  int priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(int priority) { priority_.store(priority, std::memory_order_relaxed); }

 private:
  base::Atomic<int> priority_{0};  ///< raised while who runs the node reads it (Tracker)

 public:
  Type type = Type::kOperation;
};

/// A node's place in a ReadyQueue. It has what the order needs, as the node may lie in another
/// core's cache, or in none.
struct ReadyPlace {
  ReadyNode* node = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t arrival = 0;  ///< how many nodes had come before
  int priority = 0;

  static ReadyPlace of(ReadyNode& node, std::uint64_t arrival = 0) {
    return {&node, node.sequence, arrival, node.priority()};
  }
};

/// The order of a lane.
template <class A, class B>
bool goes_before(const A& a, const B& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
}

}  // namespace heddle::detail
