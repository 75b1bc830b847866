#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/sync.h"
#include "engine/mailbox.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// A thread of a WorkerPool, and what it has taken along.
///
/// Thread safety: the thread's own, but for what is atomic.
struct alignas(64) Worker {
  static constexpr std::size_t kMaxBatch = 16;

  explicit Worker(Mailbox& own) : mailbox(own) {}

  std::array<base::Atomic<ReadyNode*>, kMaxBatch> batch{};
  std::array<ReadyPlace, kMaxBatch> places{};  ///< of what went into batch
  std::size_t next = 0;                        ///< in batch
  std::size_t count = 0;
  std::uint32_t urgent = 0;  ///< urgent_ when the batch was taken
  std::uint64_t kept = 0;    ///< operations run ahead of the batch
  bool is_fed = false;       ///< it found work at its last look, but little
  std::uint32_t waits = 0;   ///< Ledger::waits() at its last look
  std::uint32_t ran = 0;     ///< operations, since a nap
  std::int64_t measured_at = 0;
  std::uint64_t takes = 0;  ///< taken_by_others() at its last look
  Mailbox& mailbox;         ///< for the operations that it ends
  base::Thread thread;
};

}  // namespace heddle::detail
