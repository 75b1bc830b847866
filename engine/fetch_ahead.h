#pragma once

#include "engine/base/prefetch.h"
#include "engine/operation.h"

namespace heddle::detail {

// What ends an operation mostly waits for memory: for lines that another core has written, each of
// which says where the next one is. These let several of them come at once. The caller holds the
// ledger's lock, but for what is said.

/// What is read first of an operation that is about to end. Needs no lock.
inline void fetch_to_end(const Operation& op) {
  base::prefetch_lines(&op, Operation::kFirstLine, Operation::kFirstLine);
  base::prefetch_lines(&op, Operation::kAccessLine, Operation::kAccessLine);
}

/// The variables of an operation that is about to end, and what stands beside its accesses.
inline void fetch_neighbours(const Operation& op) {
  op.for_each_access([](const Access& access) {
    base::prefetch_to_write(&access.var());
    base::prefetch_to_write(access.newer);
    base::prefetch_to_write(access.older);
  });
}

/// The operations behind it, of which some will be ready. After fetch_neighbours().
inline void fetch_operations_behind(const Operation& op) {
  op.for_each_access([](const Access& access) {
    if (access.newer != nullptr) base::prefetch_to_write(&access.newer->operation());
    const bool write_is_further = access.next_write != access.newer;
    if (write_is_further && access.next_write != nullptr)
      base::prefetch_to_write(&access.next_write->operation());
  });
}

/// What comes after the next access, which will be needed when the next operation ends.
inline void fetch_after_next(const Access& access) {
  const Access* const after = access.newer != nullptr ? access.newer->newer : nullptr;
  if (after == nullptr) return;
  base::prefetch_to_write(&after->operation());
  base::prefetch_to_write(after->newer);
}

/// What a worker needs of an operation that has become ready, but for the first line.
inline void fetch_to_run(const Operation& op) {
  base::prefetch_lines(&op, Operation::kTaskLine, Operation::kAccessLine);
}

}  // namespace heddle::detail
