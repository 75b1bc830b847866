#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/sync.h"
#include "engine/guest.h"
#include "engine/lane_queue.h"
#include "engine/var_state.h"
#include "engine/waiter.h"

namespace heddle::detail {

struct Arrival;

/// Knows which operation must wait for which. Knows nothing of threads, queues and devices.
///
/// What an access waits for depends on who asks:
///  - most operations: for the accesses before it that conflict to be *done*;
///  - one that follows what is issued: only for these to be *issued*, that is to stand in some
///    stream's order; its stream then waits for their tokens (tokens_before()), and the host is not
///    involved.
///
/// Thread safety: none; the owner's lock guards the tracker, its variables and its operations'
/// accesses. What a call costs depends on the number of variables and of the operations that it
/// makes ready, and, for a write, on the reads before it.
///
/// Invariants:
///  - push() appends all accesses of an operation before the next operation's, so the order of
///    accesses is that of the sequence numbers on every variable, and no cycle of waits can arise.
///  - op.blockers counts the pairs (access of op, earlier access that it waits for). A pair is
///    counted by push() and taken off once: when the earlier one is issued, if op follows what is
///    issued, else when that ends.
///  - The accesses of a variable end such that none ends before one that it waited for. So a
///    write is the oldest access when it ends, and what an operation inherits is final when
///    everything that it waits for is done.
///  - What has not ended and is waited for is `awaited`; of what runs on a stream, what the host
///    waits for.
///  - A pushed operation of higher priority than one that it waits for, directly or through others,
///    lends it its own, as far as there is credit for the steps to there.
class Tracker {
 public:
  /// What keeps an operation from running.
  enum class Held : std::uint8_t {
    kNot,
    kByAwaited,  ///< only operations that others waited for before
    kByOthers,
  };

  /// What a push adds to the steps that may be taken to lend priorities, and how many may be saved:
  /// what that costs a push is bounded on average, and at worst.
  static constexpr std::uint64_t kCreditPerPush = 8;
  static constexpr std::uint64_t kMaxCredit = 1U << 16U;

  Tracker() = default;
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  /// Gives `op` its place behind what it conflicts with; it has its sequence number, and room for
  /// the accesses, and the variables are usable. When it is or becomes ready, op.failure is what it
  /// inherits.
  Held push(Operation& op, VarList reads, VarList mutates);
  /// The same for one that has arrived.
  Held push(Operation& op, const Arrival& arrival);

  /// Variables that pass() has counted accesses of, for settle().
  class Touched;
  /// True if nothing is pending of what `arrival` names, and no poison.
  static bool is_free(const Arrival& arrival);
  static bool has_pending(const Arrival& arrival);
  /// `arrival`, which was free, has run without ever having a place.
  static void pass(const Arrival& arrival, Touched& touched);

  /// `op` stands in the order of its stream: releases what may wait for it there.
  void issued(Operation& op, ReadyList& ready);

  /// The tokens that the stream of `op` must wait for before it runs `op`; replaces `tokens`.
  static void tokens_before(const Operation& op, std::vector<device::Token>& tokens);

  /// The poison that `op` meets, or null, in variables without writes still to come: all of them
  /// once everything that `op` waits for is done.
  FailurePtr inherited(const Operation& op) const;
  /// False if inherited() is null for every operation whose predecessors have ended. May be called
  /// without the lock.
  bool has_failed() const { return has_failed_.load(std::memory_order_relaxed); }

  /// Ends `op`: its variables carry op.failure from now on.
  void done(Operation& op, ReadyList& ready);

  /// Registers a waiter for the writes (and the reads) of `var` that have not ended; it is woken
  /// when they have. False, and not registered, if there are none.
  bool begin_wait(VarState& var, bool reads_too, Waiter& waiter);
  /// A ready operation that a worker may run and that the waiter waits for, if a few steps lead to
  /// one; else nothing.
  static Wanted needed(const VarState& var, const Waiter& waiter);
  /// Wakes every waiter: nothing further will end.
  void stop_waiters();

  /// Keeps what is not needed any more until somebody destroys it, without the lock.
  void drop(FailurePtr failure) noexcept { dropped_.add(std::move(failure)); }
  bool has_dropped() const { return !dropped_.empty(); }
  std::uint64_t dropped() const { return dropped_.added(); }  ///< how many so far
  FailurePtr take_dropped() noexcept { return dropped_.take(); }

 private:
  template <bool kPlain, class Variables>
  Held place(Operation& op, const Variables& reads, const Variables& mutates);
  /// True if operations have become awaited.
  bool lend_priority(Operation& op);
  bool raise_before(const Access& access, int priority, ReadyList& blocked);
  void unblock(Operation& op, ReadyList& ready) const;
  void end(Operation& op, Access& access, ReadyList& ready);
  void carry(VarState& var, const FailurePtr& poison);
  void settle_poisoned(VarState& var, std::uint64_t count);
  void end_of(VarState& var, const Access& access);

  /// Steps that lend_priority() may take, as of the push of operation `credited_`; less than 0
  /// after a run of a recording has taken more.
  std::int64_t credit_ = kMaxCredit;
  std::uint64_t credited_ = 0;
  std::vector<VarState*> watched_;  ///< those with waiters
  DroppedFailures dropped_;
  base::Atomic<bool> has_failed_{false};  ///< something has; else no variable is poisoned
};

}  // namespace heddle::detail
