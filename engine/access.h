#pragma once

#include <cstdint>

namespace heddle::detail {

struct Operation;
struct VarState;

/// One operation's use of one variable, from its push until it has ended.
///
/// The accesses of a variable that have not ended form a list in sequence order. A read waits for
/// the last write before it; a write waits for that too, and for the reads between the two.
struct Access {
  Operation* operation = nullptr;
  VarState* var = nullptr;
  Access* older = nullptr;
  Access* newer = nullptr;
  Access* next_write = nullptr;  ///< the first write behind this access, if there is one
  bool write = false;
};

}  // namespace heddle::detail
