#pragma once

#include <cstdint>

namespace heddle::detail {

/// What a ReadyQueue holds.
struct ReadyNode {
  enum class Type : std::uint8_t {
    kOperation,
    kWork,   ///< a piece of a stream's work
    kGraph,  ///< an operation of a GraphRun
  };

  ReadyNode* newer = nullptr;  ///< the next one in a list
  std::uint64_t sequence = 0;
  int priority = 0;
  Type type = Type::kOperation;
};

/// A node's place in a ReadyQueue. It has what the order needs, as the node may lie in another
/// core's cache, or in none.
struct ReadyPlace {
  ReadyNode* node = nullptr;
  std::uint64_t sequence = 0;
  std::uint64_t arrival = 0;  ///< how many nodes had come before
  int priority = 0;
};

/// The order of a lane, of nodes and of places.
template <class A, class B>
bool goes_before(const A& a, const B& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
}

}  // namespace heddle::detail
