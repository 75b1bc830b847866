#pragma once

#include <cstdint>

#include "engine/failure.h"

namespace heddle::detail {

struct Operation;
struct Epoch;
struct VarState;
struct Waiter;

/// One operation's use of one variable.
struct Access {
  Operation* operation = nullptr;
  VarState* var = nullptr;
  /// For a read the version that it reads, for a write the one that it makes.
  Epoch* epoch = nullptr;
  // Links of Epoch::readers.
  Access* previous = nullptr;
  Access* next = nullptr;
  bool write = false;
  /// Does not hold its operation back any more.
  bool granted = false;
};

/// A version of a variable: one write and the reads that see it. The versions of a variable form
/// a list, oldest first, that ends with VarState::newest.
///
/// A version ends when its write is done and its reads have ended. It is freed when it has ended
/// and a newer one exists.
struct Epoch {
  Epoch* older = nullptr;  ///< null also when the older version has ended and is freed
  Epoch* newer = nullptr;

  Access* writer = nullptr;  ///< null once the write is done, and for the first version
  bool write_issued = true;  ///< the write stands in some stream's order, or is done
  bool write_done = true;
  Access* readers = nullptr;  ///< reads that have not ended, in sequence order
  Access* last_reader = nullptr;
  std::uint64_t unissued_readers = 0;
  Waiter* waiters = nullptr;  ///< threads that wait for the write, and perhaps the reads

  FailurePtr inherited;  ///< poison of the older version, known once that is written
  FailurePtr poison;     ///< of this version, known once write_done
};

}  // namespace heddle::detail
