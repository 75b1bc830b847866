#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/sync.h"
#include "engine/batch.h"
#include "engine/mailbox.h"
#include "engine/pool_thread.h"
#include "engine/ready_node.h"
#include "engine/trace_log.h"

namespace heddle::detail {

class WorkerPool;

/// What a thread works with at a WorkerPool: what it has taken along, and what it has seen.
///
/// Thread safety: its thread's own, but for what is atomic.
struct alignas(64) Worker {
  /// Of so many operations a worker measures one, and how long it took for all of them.
  static constexpr std::uint32_t kMeasureEvery = 32;

  static constexpr std::uint32_t kLookEvery = 64;

  Worker(WorkerPool& its_pool, Mailbox& own) : pool(its_pool), mailbox(own) {}

  /// Once in a while, what has arrived counts as work: else who runs on would overtake it for ever.
  bool looks_around() const { return ran % kLookEvery == 0; }
  /// Before an operation, to find out whether operations are small: the time, or 0 for most.
  std::int64_t begin_measuring() { return ++ran % kMeasureEvery == 0 ? now_ns() : 0; }

  WorkerPool& pool;
  PoolThread* self = nullptr;  ///< while it sleeps guarded by the pool's lock
  bool is_asleep = false;      ///< may be claimed (see IdleWorkers); guarded by that lock
  Batch batch;
  std::uint32_t urgent = 0;  ///< urgent_ when the batch was taken
  std::uint64_t kept = 0;    ///< operations run ahead of the batch
  bool is_fed = false;       ///< it found work at its last look, but little
  std::uint32_t waits = 0;   ///< Ledger::waits() at its last look
  std::uint32_t ran = 0;     ///< operations, since a nap
  std::int64_t measured_at = 0;
  base::Atomic<int> cpu{-1};  ///< that it is on, as of when it found work; -1 while it has none
  /// First operation of the run that it is at, 0: it is at none; and that one's priority.
  base::Atomic<std::uint64_t> run_sequence{0};
  base::Atomic<int> run_priority{0};
  std::uint64_t takes = 0;  ///< taken_by_others() at its last look
  Mailbox& mailbox;         ///< for the operations that it ends
};

}  // namespace heddle::detail
