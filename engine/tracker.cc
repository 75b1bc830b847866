#include "engine/tracker.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/fetch_ahead.h"

namespace heddle::detail {
namespace {

/// True if `op` need not wait until `earlier` has ended.
bool follows(const Operation& op, const Operation& earlier) {
  return op.is(Operation::kFollowsIssued) && earlier.issued;
}

void append(Operation& op, Access& access, VarState& var, bool write) {
  access = {&op, &var, var.newest, nullptr, nullptr, write};
  if (var.newest == nullptr) {
    retain(&var);
    var.oldest = &access;
  } else {
    var.newest->newer = &access;
  }
  var.newest = &access;
}

void unlink(Access& access) {
  VarState& var = *access.var;
  (access.older != nullptr ? access.older->newer : var.oldest) = access.newer;
  (access.newer != nullptr ? access.newer->older : var.newest) = access.older;
}

/// Sequentially consistent, see Mailbox.
/// True if it was not so before.
bool mark_awaited(Operation& op, Awaited how) {
  if (op.awaited.load(std::memory_order_relaxed) >= how) return false;
  op.awaited.store(how);
  return true;
}

/// True if `op` is the first to wait so for the operation of `access`.
bool block(Operation& op, Access& access) {
  Operation& earlier = *access.operation;
  if (follows(op, earlier)) return false;
  ++op.blockers;
  return mark_awaited(earlier, op.priority > earlier.priority ? Awaited::kUrgently : Awaited::kYes);
}

/// Calls `visit` for every operation that waits, or waited, for `access`.
template <class Visit>
void for_each_behind(const Access& access, Visit&& visit) {
  if (access.write) {
    Access* reader = access.newer;
    for (; reader != access.next_write; reader = reader->newer) visit(*reader->operation);
  }
  if (access.next_write != nullptr) visit(*access.next_write->operation);
}

// These return true if some operation has become awaited.

bool add_read(Operation& op, Access& access, VarState& var) {
  append(op, access, var, /*write=*/false);
  return var.last_write != nullptr && block(op, *var.last_write);
}

bool add_write(Operation& op, Access& access, VarState& var) {
  bool marked = false;
  for (Access* earlier = var.newest; earlier != nullptr; earlier = earlier->older) {
    earlier->next_write = &access;
    marked |= block(op, *earlier);
    if (earlier->write) break;
  }
  append(op, access, var, /*write=*/true);
  var.last_write = &access;
  return marked;
}

/// The last write before `access` that has not ended, or null.
const Access* write_before(const Access& access) {
  const Access* const last = access.var->last_write;
  if (last == nullptr) return nullptr;  // so this is a read
  if (last->operation->sequence < access.operation->sequence) return last;
  const Access* earlier = access.older;
  while (earlier != nullptr && !earlier->write) earlier = earlier->older;
  return earlier;
}

/// Keeps of each stream the latest token only.
void merge_token(std::vector<device::Token>& tokens, const Access& access) {
  if (!access.operation->issued) return;
  const device::Token token = access.operation->extras->token;
  for (device::Token& known : tokens) {
    if (known.stream() != token.stream()) continue;
    if (known.sequence() < token.sequence()) known = token;
    return;
  }
  tokens.push_back(token);
}

}  // namespace

Tracker::Held Tracker::push(Operation& op, const VarList& reads, const VarList& mutates) {
  Access* access = op.accesses();
  bool marked = false;
  op.blockers = 0;
  // Mutated variables first: one that is also read counts as mutated.
  for (std::size_t i = 0; i < mutates.size(); ++i) {
    VarState& var = *mutates[i];
    if (std::exchange(var.last_push, op.sequence) == op.sequence) continue;
    marked |= add_write(op, *access++, var);
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    VarState& var = *reads[i];
    if (std::exchange(var.last_push, op.sequence) == op.sequence) continue;
    marked |= add_read(op, *access++, var);
  }
  op.access_count = static_cast<std::uint32_t>(access - op.accesses());
  if (op.blockers != 0) return marked ? Held::kByOthers : Held::kByAwaited;
  if (has_failed()) op.meet(inherited(op));
  return Held::kNot;
}

void Tracker::unblock(Operation& op, ReadyList& ready) const {
  if (--op.blockers != 0) return;
  if (ready.empty()) fetch_to_run(op);  // mostly it runs next, here
  if (has_failed()) op.meet(inherited(op));
  ready.push(op);
}

void Tracker::issued(Operation& op, ReadyList& ready) {
  op.issued = true;
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    for_each_behind(op.accesses()[i], [&](Operation& behind) {
      if (behind.is(Operation::kFollowsIssued)) unblock(behind, ready);
    });
  }
}

void Tracker::waits(const Operation& op, std::vector<device::Token>& tokens) {
  tokens.clear();
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    const Access& access = op.accesses()[i];
    const Access* const write = write_before(access);
    if (write != nullptr) merge_token(tokens, *write);
    if (!access.write) continue;
    for (const Access* read = access.older; read != write; read = read->older) {
      merge_token(tokens, *read);
    }
  }
}

FailurePtr Tracker::inherited(const Operation& op) const {
  if (!has_failed()) return nullptr;
  if (op.kind != Submission::Kind::kRun && op.kind != Submission::Kind::kUse) return nullptr;
  FailurePtr first;
  for (std::uint32_t i = 0; i < op.access_count; ++i) {
    const Access& access = op.accesses()[i];
    const FailurePtr& poison = access.var->poison;
    if (poison == nullptr || (access.write && op.is(Operation::kOverwrites))) continue;
    if (write_before(access) == nullptr) first = earlier(first, poison);
  }
  return first;
}

void Tracker::carry(VarState& var, const FailurePtr& poison) {
  if (poison != nullptr) has_failed_.store(true, std::memory_order_relaxed);
  drop(var.carry(poison));
}

inline void Tracker::end(Access& access, ReadyList& ready) {
  VarState& var = *access.var;
  const Operation& op = *access.operation;
  if (access.write) {
    var.version += op.versions;
    if (op.outcome != Outcome::kCompleted || var.is_poisoned) carry(var, op.failure);
    if (var.last_write == &access) var.last_write = nullptr;
  }
  unlink(access);  // first: what is behind is not behind it any more
  if (access.write && op.access_count == 1) fetch_after_next(access);
  for_each_behind(access, [&](Operation& behind) {
    if (!follows(behind, op)) unblock(behind, ready);
  });
  if (var.waiters != nullptr) end_of(var, access);
  if (var.newest != nullptr) return;
  if (var.is_poisoned) drop(var.poison);  // it may go with the variable
  release(&var);
}

void Tracker::done(Operation& op, ReadyList& ready) {
  for (Access& access : std::span(op.accesses(), op.access_count)) end(access, ready);
}

bool Tracker::begin_wait(VarState& var, bool reads_too, Waiter& waiter) {
  if (reads_too) {
    for (Access* access = var.oldest; access != nullptr; access = access->newer) {
      mark_awaited(*access->operation, Awaited::kUrgently);
      ++waiter.left;
    }
    if (waiter.left != 0) waiter.last_sequence = var.newest->operation->sequence;
  } else if (var.last_write != nullptr) {
    mark_awaited(*var.last_write->operation, Awaited::kUrgently);
    waiter.write = var.last_write;
    waiter.left = 1;
  }
  if (waiter.left == 0) return false;
  if (var.waiters == nullptr) watched_.push_back(&var);
  waiter.next = std::exchange(var.waiters, &waiter);
  return true;
}

/// Wakes the threads of which `access` was the last that they waited for.
void Tracker::end_of(VarState& var, const Access& access) {
  for (Waiter** link = &var.waiters; *link != nullptr;) {
    Waiter& waiter = **link;
    const bool waits_for_it = waiter.write != nullptr
                                  ? waiter.write == &access
                                  : access.operation->sequence <= waiter.last_sequence;
    if (waits_for_it && --waiter.left == 0) {
      *link = waiter.next;
      waiter.poison = var.poison;
      waiter.wake(Waiter::State::kDone);
    } else {
      link = &waiter.next;
    }
  }
  if (var.waiters == nullptr) std::erase(watched_, &var);
}

void Tracker::stop_waiters() {
  for (VarState* const var : std::exchange(watched_, {})) {
    while (Waiter* const waiter = var->waiters) {
      var->waiters = waiter->next;
      waiter->wake(Waiter::State::kStopped);
    }
  }
}

}  // namespace heddle::detail
