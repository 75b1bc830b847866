#pragma once

#include <cstdint>

namespace heddle::detail {

struct Operation;
struct VarState;

/// One operation's use of one variable, from its push until it has ended.
///
/// The accesses of a variable that have not ended form a list in sequence order. A read waits for
/// the last write before it; a write waits for that too, and for the reads between the two.
///
/// Half a cache line, as an operation waits for memory more than for anything else: what it
/// mutates, and whether it lies apart from its operation, are in the low bits of the variable's
/// address.
struct Access {
  Access* older = nullptr;
  Access* newer = nullptr;
  Access* next_write = nullptr;  ///< the first write behind this access, if there is one

  /// Puts it at the newest end of the variable's list, of which it tells nobody.
  void init(VarState& var, Access* before, bool write, bool far) {
    older = before;
    newer = next_write = nullptr;
    var_ = reinterpret_cast<std::uintptr_t>(&var) | (write ? kWrite : 0) | (far ? kFar : 0);
  }
  bool is_write() const { return (var_ & kWrite) != 0; }
  VarState& var() const {
    return *reinterpret_cast<VarState*>(var_ & ~(kWrite | kFar));  // NOLINT: as it was put there
  }
  Operation& operation() const;

 private:
  static constexpr std::uintptr_t kWrite = 1;
  static constexpr std::uintptr_t kFar = 2;  ///< it is a FarAccess

  std::uintptr_t var_ = 0;
};

/// One that does not lie in its operation.
struct FarAccess : Access {
  Operation* owner = nullptr;
};

}  // namespace heddle::detail
