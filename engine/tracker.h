#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/magazines.h"
#include "engine/base/spin_lock.h"
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
/// Two kinds of locks: order_lock_ puts pushes in order, the lock of a variable guards its
/// versions. Who ends an operation takes the locks of its variables only, one after the other.
///
/// Thread safety: every member may be called from any thread. Locks are held for times that depend
/// on the number of variables and of the operations that are made ready only.
///
/// Invariants:
///  - Lock order: waiters_mutex_, order_lock_, then the lock of one variable at a time.
///  - push() appends all accesses of an operation under order_lock_, so the order of accesses is
///    that of the sequence numbers on every variable, and no cycle of waits can arise.
///  - Each access is granted once, under its variable's lock. op.not_granted is lowered once per
///    grant and once by push() when all accesses stand; who brings it to 0 puts `op` into a
///    ReadyList. Lowering it releases, and bringing it to 0 acquires, what the earlier operations
///    wrote.
///  - An operation that is done was granted on every access by operations that are done, or
///    issued before it on streams that it waited for: so what it inherits is final.
///  - What a version inherits is in its poison before its write is granted, and stays there until
///    the write ends.
///  - A Waiter of a variable is in waiters_ from before it is linked to a version until its thread
///    has been woken.
class Tracker {
 public:
  explicit Tracker(const EngineCore& engine) : engine_(engine) {}
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

  /// Where done() leaves operations.
  base::Magazines<Operation>& ended_operations() { return ended_operations_; }

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
  // True if the access is granted.
  bool add_read(Operation& op, Access& access, VarState& var);
  bool add_write(Operation& op, Access& access, VarState& var);
  // The version that is of no use any more, or null.
  static Epoch* end_read(Access& access, ReadyList& ready);
  static Epoch* end_write(Access& access, const FailurePtr& poison, ReadyList& ready);
  void end_access(Access& access, const FailurePtr& poison, ReadyList& ready);
  void wait_blocking(Waiter& waiter);
  /// Puts versions into the first accesses of `op`, for its writes.
  void take_epochs(Operation& op, std::size_t count);
  void put_back_epochs(Operation& op, std::size_t begin, std::size_t end);

  const EngineCore& engine_;
  Generations generations_;
  base::Magazines<Operation> ended_operations_;
  base::Magazines<Epoch> retired_epochs_;

  alignas(64) mutable base::SpinLock order_lock_;
  std::uint64_t last_sequence_ = 0;
  base::Supply<Epoch> epochs_{retired_epochs_};

  std::mutex waiters_mutex_;
  std::vector<Waiter*> waiters_;  ///< of variables
  std::atomic<bool> stopped_{false};
};

}  // namespace heddle::detail
