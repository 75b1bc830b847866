#include "engine/tracker.h"

#include <algorithm>
#include <utility>

#include "engine/arrivals.h"
#include "engine/fetch_ahead.h"
#include "engine/graph_run_visit.h"
#include "engine/touched.h"

namespace heddle::detail {
namespace {

/// From what a thread waits for to something that it could run.
constexpr int kMaxSteps = 8;

/// True if `op` need not wait until `earlier` has ended.
bool follows(const Operation& op, const Operation& earlier) {
  return op.is(Operation::kFollowsIssued) && earlier.is_issued();
}

void unlink(Access& access) {
  VarState& var = access.var();
  (access.older != nullptr ? access.older->newer : var.oldest) = access.newer;
  (access.newer != nullptr ? access.newer->older : var.newest) = access.older;
}

/// Sequentially consistent, see Mailbox.
/// True if it was not so before.
bool mark_awaited(Operation& op, Awaited how) {
  if (op.awaited.load(std::memory_order_relaxed) >= how) return false;
  op.awaited.store(how);
  if (op.is_issued()) op.queue->hurry();
  return true;
}

/// Calls `visit` for every operation that waits, or waited, for `access`.
template <class Visit>
void for_each_behind(const Access& access, Visit&& visit) {
  if (access.is_write()) {
    Access* reader = access.newer;
    for (; reader != access.next_write; reader = reader->newer) visit(reader->operation());
  }
  if (access.next_write != nullptr) visit(access.next_write->operation());
}

/// What makes it more work to give an operation its place.
constexpr std::uint16_t kSpecial = Operation::kManyAccesses | Operation::kFollowsIssued;

/// An operation that gets its place behind others, access by access. Its flags and priority are
/// copied, as they would be read again for each; `kPlain` says that it is one without kSpecial.
template <bool kPlain>
class Placing {
 public:
  explicit Placing(Operation& op)
      : op_(op),
        priority_(op.priority()),
        is_far_(!kPlain && op.is(Operation::kManyAccesses)),
        follows_issued_(!kPlain && op.is(Operation::kFollowsIssued)),
        how_(op.kind() == Submission::Kind::kUse && op.use.run->is_alone() ? Awaited::kByNext
                                                                           : Awaited::kYes),
        next_(is_far_ ? op.extras->accesses.get() : op.inline_accesses.data()) {
    if (follows_issued_) op.extras->waits_on_host = false;
  }

  /// Mutated variables first: one that is also read counts as mutated.
  template <class Variables>
  Tracker::Held place(const Variables& reads, const Variables& mutates) {
    for (std::size_t i = 0; i < mutates.size(); ++i) add_write(*mutates[i]);
    for (std::size_t i = 0; i < reads.size(); ++i) add_read(*reads[i]);
    return finish();
  }
  /// True if it waits for an operation of lower priority.
  bool outranks() const { return outranks_; }

 private:
  void add_read(VarState& var) {
    if (!is_first_use(var)) return;
    append(var, /*write=*/false);
    if (var.last_write != nullptr) block(*var.last_write);
  }
  void add_write(VarState& var) {
    if (!is_first_use(var)) return;
    Access* earlier = var.newest;
    Access& access = append(var, /*write=*/true);
    for (; earlier != nullptr; earlier = earlier->older) {
      earlier->next_write = &access;
      block(*earlier);
      if (earlier->is_write()) break;
    }
    var.last_write = &access;
  }
  Tracker::Held finish() {
    op_.set_access_count(count_);
    op_.blockers = blockers_;
    if (blockers_ == 0) return Tracker::Held::kNot;
    return has_marked_ ? Tracker::Held::kByOthers : Tracker::Held::kByAwaited;
  }
  bool is_first_use(VarState& var) const {
    if (std::exchange(var.last_push, op_.sequence) != op_.sequence) return true;
    ++var.ended;  // it is an access already
    return false;
  }
  Access& append(VarState& var, bool write) {
    Access& access = *next_;
    next_ = !kPlain && is_far_ ? static_cast<FarAccess*>(next_) + 1 : next_ + 1;
    ++count_;
    access.init(var, var.newest, write, !kPlain && is_far_);
    if (var.newest == nullptr) {
      var.oldest = &access;
    } else {
      var.newest->newer = &access;
    }
    var.newest = &access;
    return access;
  }
  void block(Access& access) {
    Operation& earlier = access.operation();
    if (!kPlain && follows_issued_) {
      if (earlier.is_issued()) return;
      // Another lane's may wait itself; what is asynchronous never counts as issued.
      const bool may_take_long = !earlier.is(Operation::kFollowsIssued) ||
                                 earlier.is(Operation::kAsync) ||
                                 (earlier.queue != op_.queue && earlier.extras->waits_on_host);
      if (may_take_long) op_.extras->waits_on_host = true;
    }
    ++blockers_;
    const bool is_outranked = priority_ > earlier.priority();
    if (is_outranked) outranks_ = true;
    // What runs on a stream is not posted, and not awaited by what only has to be issued behind it.
    if (!kPlain && follows_issued_ && earlier.is(Operation::kOnStream)) return;
    has_marked_ |= mark_awaited(earlier, is_outranked ? Awaited::kUrgently : how_);
  }

  Operation& op_;
  const int priority_;
  const bool is_far_;
  const bool follows_issued_;
  const Awaited how_;        ///< what it waits for is awaited by it
  bool has_marked_ = false;  ///< some operation has become awaited
  bool outranks_ = false;
  std::uint32_t count_ = 0;
  std::uint32_t blockers_ = 0;
  Access* next_;
};

/// The last write before `access` that has not ended, or null.
const Access* write_before(const Access& access) {
  const Access* const last = access.var().last_write;
  if (last == nullptr) return nullptr;  // so this is a read
  if (last->operation().sequence < access.operation().sequence) return last;
  const Access* earlier = access.older;
  while (earlier != nullptr && !earlier->is_write()) earlier = earlier->older;
  return earlier;
}

/// True if it is ready and in a queue, or about to come to one.
bool may_be_taken(const Operation& op) {
  return op.blockers == 0 && op.kind() != Submission::Kind::kUse && op.queue != nullptr &&
         op.phase.load(std::memory_order_relaxed) == Operation::Phase::kPushed;
}

/// Something that `op` waits for, or null.
const Access* blocker_of(const Operation& op) {
  const Access* blocker = nullptr;
  op.for_each_access([&](const Access& access) {
    if (blocker != nullptr) return;
    blocker = access.is_write() ? access.older : write_before(access);
  });
  return blocker;
}

/// `op`, which has not ended, gets a higher priority. If it waits for others it joins `blocked`.
void raise(Operation& op, int priority, ReadyList& blocked) {
  const int before = op.priority();
  op.set_priority(priority);
  if (op.blockers != 0) {
    blocked.push(op);
  } else if (may_be_taken(op)) {
    op.queue->raise(op, before, priority);
  }
}

/// The same for a use, and for those of its run that have to end before, whatever they wait for.
/// Returns how many it has raised.
std::size_t raise_use(Operation& op, int priority, ReadyList& blocked) {
  GraphRun& run = *op.use.run;
  std::size_t count = 0;
  const std::uint32_t last = run.visit_needed(op.use.number, [&](Operation& use) {
    ++count;
    if (use.priority() >= priority) return;
    raise(use, priority, blocked);
    mark_awaited(use, Awaited::kUrgently);
  });
  if (last != ReadyOps::kNone) run.lend(priority, last);
  return count;
}

/// Keeps of each stream the latest token only.
void merge_token(std::vector<device::Token>& tokens, const Access& access) {
  if (!access.operation().is_issued()) return;
  const device::Token token = access.operation().extras->token;
  for (device::Token& known : tokens) {
    if (known.stream() != token.stream()) continue;
    if (known.sequence() < token.sequence()) known = token;
    return;
  }
  tokens.push_back(token);
}

}  // namespace

template <bool kPlain, class Variables>
Tracker::Held Tracker::place(Operation& op, const Variables& reads, const Variables& mutates) {
  Placing<kPlain> placing(op);
  Held held = placing.place(reads, mutates);
  if (placing.outranks() && lend_priority(op)) held = Held::kByOthers;
  if (held == Held::kNot && has_failed()) op.meet(inherited(op));
  return held;
}

Tracker::Held Tracker::push(Operation& op, VarList reads, VarList mutates) {
  return (op.flags & kSpecial) == 0 ? place<true>(op, reads, mutates)
                                    : place<false>(op, reads, mutates);
}

Tracker::Held Tracker::push(Operation& op, const Arrival& arrival) {
  if ((op.flags & kSpecial) == 0) return place<true>(op, arrival.reads(), arrival.mutates());
  return arrival.has_many() ? place<false>(op, arrival.many->reads(), arrival.many->mutates())
                            : place<false>(op, arrival.reads(), arrival.mutates());
}

bool Tracker::has_pending(const Arrival& arrival) {
  const auto all = arrival.all();
  return std::any_of(all.begin(), all.end(),
                     [](const VarState* var) { return var->newest != nullptr; });
}

/// With a plain loop, as the library's is unrolled for many.
bool Tracker::is_free(const Arrival& arrival) {
  for (const VarState* const var : arrival.all()) {
    if (var->newest != nullptr || var->is_poisoned) return false;
  }
  return true;
}

void Tracker::pass(const Arrival& arrival, Touched& touched) {
  for (VarState* const var : arrival.mutates()) {
    if (std::exchange(var->last_push, arrival.sequence) != arrival.sequence) ++var->version;
    touched.add(*var);
  }
  for (VarState* const var : arrival.reads()) touched.add(*var);
}

bool Tracker::lend_priority(Operation& op) {
  // What a deletion waits for is no more urgent than before.
  if (op.kind() == Submission::Kind::kDelete) return false;
  const std::uint64_t pushes = std::max(op.sequence, credited_) - credited_;  // uses may be older
  credit_ = std::min<std::int64_t>(kMaxCredit, credit_ + static_cast<std::int64_t>(std::min(
                                                             kMaxCredit, kCreditPerPush * pushes)));
  credited_ += pushes;
  const int priority = op.priority();
  bool has_marked = false;
  ReadyList blocked;
  blocked.push(op);
  while (Operation* const waiting = blocked.pop()) {
    waiting->for_each_access([&](const Access& access) {
      has_marked = raise_before(access, priority, blocked) || has_marked;
    });
  }
  return has_marked;
}

/// Raises what `access` waits for; what of that waits itself is put into `blocked`. True if
/// operations have become awaited.
bool Tracker::raise_before(const Access& access, int priority, ReadyList& blocked) {
  bool has_marked = false;
  for (Access* before = access.older; before != nullptr && credit_ > 0; before = before->older) {
    --credit_;
    Operation& op = before->operation();
    const bool is_raised = op.priority() >= priority;
    if (before->is_write() || access.is_write()) {
      if (!is_raised && op.kind() == Submission::Kind::kUse) {
        credit_ -= static_cast<std::int64_t>(raise_use(op, priority, blocked));
        has_marked = true;
      } else if (!is_raised) {
        raise(op, priority, blocked);
      }
      if (before->is_write()) break;
    } else if (is_raised) {
      break;  // this read has done for the write before both, or will do, what is to do
    }
  }
  return has_marked;
}

void Tracker::unblock(Operation& op, ReadyList& ready) const {
  if (--op.blockers != 0) return;
  if (ready.empty()) fetch_to_run(op);  // mostly it runs next, here
  if (has_failed()) op.meet(inherited(op));
  if (op.kind() == Submission::Kind::kUse) op.use.run->expect_grant();
  ready.push(op);
}

void Tracker::issued(Operation& op, ReadyList& ready) {
  op.extras->issued = true;
  op.for_each_access([&](const Access& access) {
    for_each_behind(access, [&](Operation& behind) {
      if (behind.is(Operation::kFollowsIssued)) unblock(behind, ready);
    });
  });
}

void Tracker::tokens_before(const Operation& op, std::vector<device::Token>& tokens) {
  tokens.clear();
  op.for_each_access([&](const Access& access) {
    const Access* const write = write_before(access);
    if (write != nullptr) merge_token(tokens, *write);
    if (!access.is_write()) return;
    for (const Access* read = access.older; read != write; read = read->older) {
      merge_token(tokens, *read);
    }
  });
}

FailurePtr Tracker::inherited(const Operation& op) const {
  if (!has_failed()) return nullptr;
  const Submission::Kind kind = op.kind();
  if (kind != Submission::Kind::kRun && kind != Submission::Kind::kUse) return nullptr;
  FailurePtr first;
  op.for_each_access([&](const Access& access) {
    const FailurePtr& poison = access.var().poison;
    if (poison == nullptr || (access.is_write() && op.is(Operation::kOverwrites))) return;
    if (write_before(access) == nullptr) first = earlier(first, poison);
  });
  return first;
}

void Tracker::carry(VarState& var, const FailurePtr& poison) {
  if (poison != nullptr) has_failed_.store(true, std::memory_order_relaxed);
  drop(var.carry(poison));
}

inline void Tracker::end(Operation& op, Access& access, ReadyList& ready) {
  VarState& var = access.var();
  ++var.ended;
  if (access.is_write()) {
    var.version += op.versions();
    if (op.outcome != Outcome::kCompleted || var.is_poisoned) carry(var, op.failure);
    if (var.last_write == &access) var.last_write = nullptr;
  }
  unlink(access);  // first: what is behind is not behind it any more
  if (access.is_write() && op.access_count() == 1) fetch_after_next(access);
  for_each_behind(access, [&](Operation& behind) {
    if (!follows(behind, op)) unblock(behind, ready);
  });
  if (var.waiters != nullptr) end_of(var, access);
  if (var.newest != nullptr) {
    if (var.ended >= VarState::kMostEnded) settle(var, std::exchange(var.ended, 0));
    return;
  }
  const std::uint64_t ended = std::exchange(var.ended, 0);
  var.is_poisoned ? settle_poisoned(var, ended) : settle(var, ended);
}

/// Its exception does not go with the variable.
void Tracker::settle_poisoned(VarState& var, std::uint64_t count) {
  if (!settles_last(var, count)) return;
  drop(std::move(var.poison));
  delete &var;
}

void Tracker::done(Operation& op, ReadyList& ready) {
  op.for_each_access([&](Access& access) { end(op, access, ready); });
}

bool Tracker::begin_wait(VarState& var, bool reads_too, Waiter& waiter) {
  if (reads_too) {
    for (Access* access = var.oldest; access != nullptr; access = access->newer) {
      mark_awaited(access->operation(), Awaited::kUrgently);
      ++waiter.left;
    }
    if (waiter.left != 0) waiter.last_sequence = var.newest->operation().sequence;
  } else if (var.last_write != nullptr) {
    mark_awaited(var.last_write->operation(), Awaited::kUrgently);
    waiter.write = var.last_write;
    waiter.left = 1;
  }
  if (waiter.left == 0) return false;
  if (var.waiters == nullptr) watched_.push_back(&var);
  waiter.next = std::exchange(var.waiters, &waiter);
  return true;
}

Wanted Tracker::needed(const VarState& var, const Waiter& waiter) {
  if (waiter.left == 0 || waiter.woken()) return {};  // what it waited for may be gone
  const Access* access = waiter.write != nullptr ? waiter.write : var.oldest;
  for (int step = 0; step < kMaxSteps && access != nullptr; ++step) {
    const Operation& op = access->operation();
    if (may_be_taken(op)) return {.node = &op, .sequence = op.sequence};
    access = blocker_of(op);
  }
  return {};
}

/// Wakes the threads of which `access` was the last that they waited for.
void Tracker::end_of(VarState& var, const Access& access) {
  for (Waiter** link = &var.waiters; *link != nullptr;) {
    Waiter& waiter = **link;
    const bool waits_for_it = waiter.write != nullptr
                                  ? waiter.write == &access
                                  : access.operation().sequence <= waiter.last_sequence;
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
