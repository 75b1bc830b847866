#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/block_cache.h"
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
  // Links of Epoch::readers, a ring.
  Access* previous = nullptr;
  Access* next = nullptr;
  bool write = false;
  /// Does not hold its operation back any more.
  bool granted = false;
  bool issued = false;  ///< a read that no longer counts in Epoch::unissued_readers
};

/// A version of a variable: one write and the reads that see it. The versions of a variable form
/// a list, oldest first, that ends with VarState::newest.
///
/// A version ends when its write is done and its reads have ended. It is given back when it has
/// ended and a newer one exists.
struct alignas(64) Epoch : base::InBlockCache<Epoch> {
  static constexpr std::size_t kHotBytes = 64;

  Epoch* older = nullptr;  ///< null also when the older version has ended
  Epoch* newer = nullptr;

  Access* writer = nullptr;   ///< null once the write is done, and for the first version
  Access* readers = nullptr;  ///< a ring of the reads that have not ended, in sequence order
  Waiter* waiters = nullptr;  ///< threads that wait for the write, and perhaps the reads

  /// Of this version, once write_done; before that of the older one, once that is written.
  FailurePtr poison;

  std::uint32_t unissued_readers = 0;
  bool write_issued = true;  ///< the write stands in some stream's order, or is done
  bool write_done = true;
};
static_assert(sizeof(Epoch) == 64, "one cache line");

}  // namespace heddle::detail
