#pragma once

#include <cstddef>
#include <vector>

#include "programs/program.h"

namespace bench::engine {

/// What a user of a runtime that knows tasks but not variables has to write: who used each variable
/// last, to tell whom the next user must wait for.
template <class Node>
class LastUses {
 public:
  /// Nobody has used any of so many variables yet.
  void reset(int variables) { last_.assign(static_cast<std::size_t>(variables), {}); }

  /// Calls depend_on(earlier) for every node that `node`, which does `operation`, must wait for,
  /// some of them perhaps more than once.
  template <class DependOn>
  void add(Node& node, const Operation& operation, const DependOn& depend_on) {
    for (const int v : operation.reads) {
      Last& last = last_[static_cast<std::size_t>(v)];
      if (last.writer != nullptr) depend_on(*last.writer);
      last.readers.push_back(&node);
    }
    for (const int v : operation.writes) {
      Last& last = last_[static_cast<std::size_t>(v)];
      if (last.readers.empty() && last.writer != nullptr) depend_on(*last.writer);
      for (Node* const reader : last.readers) depend_on(*reader);
      last.readers.clear();
      last.writer = &node;
    }
  }

 private:
  struct Last {
    Node* writer = nullptr;
    std::vector<Node*> readers;  ///< since
  };
  std::vector<Last> last_;
};

}  // namespace bench::engine
