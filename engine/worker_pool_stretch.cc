// How workers run short operations in the order in which they have arrived.

#include <mutex>
#include <utility>

#include "engine/threaded_engine.h"
#include "engine/worker_pool.h"

namespace heddle::detail {
namespace {

/// So many looks for arrivals no two workers share a stretch after one in which one had to wait for
/// others too often: what comes later might not have to wait.
constexpr std::uint32_t kLooksWhenBlocked = 64;

/// The same after one that others have dissolved soon.
constexpr std::uint32_t kLooksWhenDissolved = 8;

/// Of what is claimed, the share that may wait for another worker is one in so many, but for a few.
constexpr std::size_t kBlockedShare = 4;
constexpr std::size_t kFewBlocked = 3;

/// How long a worker waits for what another one runs to begin the next one, and how long for the
/// last ones of others, in ns.
constexpr std::int64_t kMaxBlocked = 12000;
constexpr std::int64_t kMaxRest = 40000;

/// A worker that finds fewer arrivals than this when it has run some lets others come.
constexpr std::uint64_t kFewToCome = 16;

/// Counts how long, and how often, a worker waits for another one of the same stretch.
class Patience {
 public:
  void claimed() {
    ++claimed_;
    since_ = 0;
  }
  /// False if it should wait no longer.
  bool waits(bool is_blocked) {
    if (since_ == 0) {
      since_ = now_ns();
      if (is_blocked) ++blocked_;
      return !is_blocked_often();
    }
    const bool is_over = now_ns() - since_ > (is_blocked ? kMaxBlocked : kMaxRest);
    has_given_up_ = is_over && is_blocked;
    return !is_over;
  }
  std::size_t claims() const { return claimed_; }
  bool is_blocked_often() const {
    return has_given_up_ || blocked_ > kFewBlocked + claimed_ / kBlockedShare;
  }

 private:
  std::size_t claimed_ = 0;
  std::size_t blocked_ = 0;
  bool has_given_up_ = false;
  std::int64_t since_ = 0;
};

/// One of so many looks for arrivals; true if there are none left.
bool count_look(base::Atomic<std::uint32_t>& looks) {
  const std::uint32_t left = looks.load(std::memory_order_relaxed);
  if (left != 0) looks.store(left - 1, std::memory_order_relaxed);
  return left == 0;
}

}  // namespace

/// As far as the worker knows, before it looks into the ledger.
bool WorkerPool::may_enter_stretch(Worker& me) {
  if (!(engine_.has_one_queue() ? grain_.are_short() : grain_.is_tiny())) return false;
  if (!engine_.just_runs()) return false;
  if (!me.batch.empty() || me.stretch != nullptr) return false;
  const bool may_share = count_look(without_sharing_) || idle_.awake() < 2;
  return count_look(without_stretch_) && may_share;
}

/// Until the stretch is known whatever comes may have to go first. False if something has.
bool WorkerPool::begin_stretch(TakenAlong::Mark& mark) {
  const std::lock_guard lock(mutex_);
  begin_taking(mark);
  const bool is_free = queue_.empty() && open_runs_.empty();
  if (is_free) return true;
  taken_.none();
  if (!queue_.empty()) has_queue_.store(true);
  return false;
}

bool WorkerPool::enter_stretch(Worker& me, bool& searching) {
  if (!may_enter_stretch(me)) return false;
  if (!engine_.has_one_queue()) return me.self->tour.set_out(me, searching);
  if (!begin_stretch(me.taken_at)) return false;
  ReadyList ready;
  const LaneQueue* const here = this;
  const StretchPlace entered =
      engine_.ledger().enter_stretch({&here, 1}, /*joins=*/!is_fine(), me.mailbox, ready);
  if (entered.stretch != nullptr) {
    me.stretch = entered.stretch;
    me.place = entered.place;
    tell_taken(me.taken_at, me.stretch->last().priority, me.stretch->last().sequence);
    return true;
  }
  taken_.none();
  queue_own(ready);
  searching ? dispatch_while_searching(ready) : engine_.dispatch(ready);
  if (!entered.is_near || workers_.size() == 1) return false;
  if (me.pause_for_stretch()) return true;
  if (!entered.is_full) without_sharing_.store(kLooksWhenBlocked, std::memory_order_relaxed);
  return false;
}

/// Until there is no more, or something else is to be done first. Returns what the last one has
/// failed with, or null.
FailurePtr WorkerPool::run_arrivals(Worker& me) {
  const Ledger& ledger = engine_.ledger();
  Patience patience;
  auto claim = Stretch::Claim::kEnd;
  while (taken_.is_current(me.taken_at) && engine_.just_runs() && !deferred_.are_overdue()) {
    Arrival* arrival = nullptr;
    claim = me.stretch->claim(me.place, ledger.first_uncovered(), arrival);
    if (claim == Stretch::Claim::kBlocked || claim == Stretch::Claim::kRest) {
      if (!patience.waits(claim == Stretch::Claim::kBlocked)) break;
      base::cpu_relax();
      continue;
    }
    if (claim != Stretch::Claim::kSome) break;
    patience.claimed();
    const std::int64_t begin = me.begin_measuring();
    FailurePtr failure = engine_.run(*arrival);
    if (begin != 0) end_measuring(me, begin);
    if (failure != nullptr) return failure;
    if (begin != 0 && !grain_.are_short()) break;
  }
  const bool was_dissolved = claim == Stretch::Claim::kLeave && me.place == 0;
  if (was_dissolved && patience.claims() < base::kFewestInStretch) {
    without_stretch_.store(kLooksWhenDissolved, std::memory_order_relaxed);
  }
  if (patience.is_blocked_often()) {
    without_sharing_.store(kLooksWhenBlocked, std::memory_order_relaxed);
  }
  return nullptr;
}

ReadyNode* WorkerPool::run_stretch(Worker& me) {
  if (group_.is_on_tour(*me.self)) {
    me.self->tour.go_on(me);
    return nullptr;
  }
  // The system may have put it on this CPU, behind this thread; once it runs it goes elsewhere.
  if (idle_.has_coming()) base::yield();
  collect_overdue();  // which may run something, and so not beside what this thread has begun
  FailurePtr failure = run_arrivals(me);
  const bool has_failed = failure != nullptr;
  Operation* const last = engine_.ledger().leave_stretch(*me.stretch, me.place, has_failed);
  me.stretch = nullptr;
  me.looked_at = me.ran;
  me.is_fed = is_fine() && engine_.ledger().intake().seem_fewer(kFewToCome);
  if (last == nullptr) return nullptr;
  ReadyList ready;
  engine_.settle_last(*last, std::move(failure));
  end(me, *last, ready);
  return ready.empty() ? nullptr : go_on_with(me, ready);
}

}  // namespace heddle::detail
