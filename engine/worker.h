#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/cpus.h"
#include "engine/base/grain.h"
#include "engine/base/sync.h"
#include "engine/batch.h"
#include "engine/mailbox.h"
#include "engine/pool_thread.h"
#include "engine/queue_pass.h"
#include "engine/ready_node.h"
#include "engine/stretch.h"
#include "engine/taken_along.h"
#include "engine/trace_log.h"

namespace heddle::detail {

class WorkerPool;

/// What a thread works with at a WorkerPool: what it has taken along, and what it has seen.
///
/// Thread safety: its thread's own, but for what is atomic: others read that for a hint.
struct alignas(64) Worker {
  static constexpr std::uint32_t kLookEvery = 512;

  /// How long it lets what has arrived wait for a stretch to begin, in ns.
  static constexpr std::int64_t kMaxWait = 40000;
  static constexpr int kFewPauses = 8;

  Worker(WorkerPool& its_pool, Mailbox& own) : pool(its_pool), mailbox(own) {}

  /// It has run so much since its last look at what has arrived, and at what stands elsewhere, that
  /// it looks whatever else there is: else who runs on would overtake that for ever.
  bool looks_around() const { return ran - looked_at >= kLookEvery; }
  /// Before an operation, to find out whether operations are small: the time, or 0 for most.
  std::int64_t begin_measuring() {
    ++ran;
    return measures() || measures_next ? now_ns() : 0;
  }
  /// The one that it is at is one of kMeasureEvery.
  bool measures() const { return ran % base::kMeasureEvery == 0; }

  /// Pauses and returns true, until it has waited for kMaxWait.
  bool pause_for_stretch() {
    if (waits_since == 0) waits_since = now_ns();
    if (now_ns() - waits_since >= kMaxWait) return false;
    for (int i = 0; i < kFewPauses; ++i) base::cpu_relax();
    return true;
  }

  /// It has found work.
  void note_cpu() {
    const int here = base::current_cpu();
    cpu.store(here, std::memory_order_relaxed);
    awake_on.store(here, std::memory_order_relaxed);
  }
  void forget_cpu() {
    cpu.store(-1, std::memory_order_relaxed);
    awake_on.store(-1, std::memory_order_relaxed);
  }

  WorkerPool& pool;
  PoolThread* self = nullptr;  ///< while it sleeps guarded by the pool's lock
  bool is_asleep = false;      ///< may be claimed (see IdleWorkers); guarded by that lock
  int slept_on = -1;           ///< the CPU, as of when it went to sleep; guarded by that lock
  Batch batch;
  const ReadyNode* batch_at_look = nullptr;  ///< its first when others last looked; by that lock
  Stretch* stretch = nullptr;                ///< that it takes part in, at `place`
  std::size_t place = 0;
  std::int64_t waits_since = 0;   ///< for pending operations to end, so that a stretch can begin
  TakenAlong::Mark taken_at = 0;  ///< of batch or stretch
  std::uint64_t kept = 0;         ///< operations run ahead of the batch
  QueuePass pass;                 ///< for the run that it is at
  bool is_fed = false;            ///< it found work at its last look, but little
  std::uint32_t waits_seen = 0;   ///< Ledger::waits_begun() at its last look
  std::uint32_t ran = 0;          ///< operations, and work of streams
  std::uint32_t looked_at = 0;    ///< what has arrived, when `ran` was this
  bool measures_next = false;     ///< not only one of kMeasureEvery
  std::int64_t measured_at = 0;
  base::Atomic<int> cpu{-1};  ///< that it is on, as of when it found work; -1 while it has none
  base::Atomic<int> awake_on{-1};  ///< the same, until it sleeps or naps
  std::int64_t left_cpu_at = 0;
  /// First operation of the run that it is at, 0: it is at none; and that one's priority.
  base::Atomic<std::uint64_t> run_sequence{0};
  base::Atomic<int> run_priority{0};
  std::uint64_t takes = 0;         ///< progress() at its last look
  std::uint32_t guest_streak = 0;  ///< the pool's, at its last look
  Mailbox& mailbox;                ///< for the operations that it ends
};

}  // namespace heddle::detail
