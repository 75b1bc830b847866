#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/spin_mutex.h"
#include "engine/generations.h"
#include "engine/operation.h"
#include "engine/var_state.h"
#include "engine/waiter.h"

namespace heddle::detail {

/// Knows which operation must wait for which. Knows nothing of threads, queues and devices.
///
/// Every write of a variable makes a version (Epoch); a read belongs to the newest version, a
/// write ends it and makes the next. What an access waits for depends on who asks:
///  - most operations: a read for its version's write to be *done*, a write for the older version's
///    write and reads to be done;
///  - one that follows_issued: only for these to be *issued*, that is to stand in some stream's
///    order; its stream then waits for their tokens (waits()), and the host is not involved.
///
/// Thread safety: every member may be called from any thread. Each takes lock_ once, for a time
/// that depends on the number of variables and of the operations that it makes ready only.
///
/// Invariants (under lock_):
///  1. push() appends all accesses of an operation at once, so the order of accesses is that of
///     the sequence numbers on every variable, and no cycle of waits can arise.
///  2. op.not_granted counts the accesses that hold `op` back; who brings it to 0 puts `op` into
///     a ReadyList, once.
///  3. An operation that is done was granted on every access by operations that are done, or
///     issued before it on streams that it waited for: so what it inherits is final.
///  4. Epoch::inherited of the newer version equals Epoch::poison of the older once that is
///     written.
class Tracker {
 public:
  explicit Tracker(const EngineCore& engine) : engine_(engine) {}
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  /// Gives `op` its sequence number and its place behind what it conflicts with. If nothing
  /// holds it back it is added to `ready`. Throws std::invalid_argument, and changes nothing, if a
  /// variable is not usable.
  std::uint64_t push(Operation& op, VarList reads, VarList mutates, ReadyList& ready);

  /// `op` stands in the order of its stream at `op.token`: releases what may wait for it there.
  /// False, and nothing released, if it has run to its end already: the caller ends it.
  bool issued(Operation& op, ReadyList& ready);

  /// `op` has run to its end on its stream. False if it is still being issued; then whoever
  /// issues it ends it.
  bool may_end(Operation& op);

  /// The tokens that the stream of `op` must wait for before it runs `op`; replaces `tokens`.
  void waits(const Operation& op, std::vector<device::Token>& tokens);

  /// The poison that `op` meets, or null. Final once everything that `op` waits for is done.
  static FailurePtr inherited(const Operation& op);

  /// Ends `op`, which may be used for another one afterwards; `poison` is what its variables carry
  /// from now on, null for none.
  void done(Operation& op, const FailurePtr& poison, ReadyList& ready);

  /// Operations that have ended, linked by next_ready, or null. The caller owns them.
  Operation* take_unused();
  /// Gives such back.
  void put_unused(Operation& first);

  /// Blocks until the writes of `var` (and the reads) pushed so far are done. Returns its poison.
  /// Throws EngineStopped if stop_waiters() was called meanwhile.
  FailurePtr wait_for_var(VarState* var, bool reads_too);
  /// Blocks until all operations pushed so far, and those that they push, are done.
  void wait_for_all();
  /// Wakes every waiting thread: nothing further will end.
  void stop_waiters();

  std::uint64_t version(VarState* var) const;
  std::string describe_writer(VarState* var) const;

 private:
  void add_read(Operation& op, Access& access, VarState& var);
  void add_write(Operation& op, Access& access, VarState& var);
  void end_read(Access& access, ReadyList& ready);
  void end_write(Access& access, const FailurePtr& poison, ReadyList& ready);
  void grant(Access& access, ReadyList& ready);
  void grant_readers(Epoch& epoch, ReadyList& ready);
  void grant_newer_writer(Epoch& epoch, ReadyList& ready);
  void retire(Epoch& epoch);
  void release_access(VarState& var);
  void wake_waiters(Epoch& epoch);
  static void block(Waiter& waiter, std::unique_lock<base::SpinMutex>& lock);
  void check_not_stopped() const;
  void reserve_epochs(std::size_t count);
  Epoch& take_epoch();

  const EngineCore& engine_;
  mutable base::SpinMutex lock_;
  std::uint64_t last_sequence_ = 0;
  Generations generations_;
  Waiter* all_waiters_ = nullptr;      ///< of wait_for_all()
  std::vector<Epoch*> waited_epochs_;  ///< those with waiters
  bool stopped_ = false;
  /// Written under lock_, but may be looked at without.
  std::atomic<Operation*> unused_{nullptr};
  Epoch* free_epochs_ = nullptr;  ///< linked by Epoch::newer
  std::size_t free_epoch_count_ = 0;
};

}  // namespace heddle::detail
