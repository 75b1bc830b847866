#pragma once

#include <cstdint>

#include "engine/base/sync.h"
#include "engine/ready_node.h"
#include "engine/ready_ops.h"

namespace heddle::detail {

class GraphRun;

/// A worker's share in a run: an operation of it that is ready, or a row of them (see ReadyOps).
///
/// Thread safety: guarded by the run's lock, but for what is said to be the worker's own.
///
/// Invariants:
///  - Who is at a row claims each operation of it in at_, where others may close the row: one of
///    the two gets what follows.
///  - It claims one after another has completed, and releases by that what that has done.
struct GraphItem : ReadyNode {
  static constexpr std::uint32_t kNone = ReadyOps::kNone;

  /// By the worker: it takes the row from `op` to `end`, and claims the first one.
  void begin_row(std::uint32_t end) {
    last = last_of_worker = end;
    at_.store(op, std::memory_order_relaxed);
  }
  /// By the worker, without the lock: true if it may run what follows `i`, which has completed.
  bool claim_after(std::uint32_t i) {
    return at_.compare_exchange_strong(i, i + 1, std::memory_order_release);
  }
  /// The worker claims no more. Returns the one that it is at. Once for a row.
  std::uint32_t close_row() { return at_.fetch_add(kClosed, std::memory_order_acquire); }
  /// How far the worker has come in a row that is not closed: what it is at.
  std::uint32_t reached() const { return at_.load(std::memory_order_acquire); }
  /// It stands in a queue, or is on its way there or from there to a worker.
  bool is_queued() const { return is_used && !is_running; }
  /// The same for who only looks on, and for the worker.
  std::uint32_t at() const { return at_.load(std::memory_order_relaxed) & ~kClosed; }

  GraphRun* run = nullptr;
  std::uint32_t op = kNone;    ///< the first that it has, and that is not known to have ended
  std::uint32_t last = kNone;  ///< of its row, if that is not closed; else `op`
  std::uint32_t last_of_worker = kNone;  ///< when it took the row; its own
  bool is_used = false;
  bool is_running = false;  ///< it stands in no queue: its worker is at one of them

 private:
  static constexpr std::uint32_t kClosed = std::uint32_t{1} << 31U;

  base::Atomic<std::uint32_t> at_{0};
};

}  // namespace heddle::detail
