#include "engine/worker_pool.h"

#include <algorithm>
#include <utility>

#include "engine/base/prefetch.h"
#include "engine/base/thread.h"
#include "engine/graph_run_visit.h"
#include "engine/kept_nodes.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

/// A worker that finds fewer operations than this is faster than who pushes.
constexpr std::size_t kEnough = 4;

/// What a worker takes along at most from what others could run.
constexpr std::size_t kFewAlong = 16;

/// Operations that a worker may run ahead of its batch.
constexpr std::uint64_t kMaxKept = ReadyQueue::kPatience;

}  // namespace

void KeptNodes::put_all() {
  for (ReadyNode* const node : end()) pool_.put(*node);
  count_ = 0;
}

WorkerPool::WorkerPool(ThreadedEngine& engine, PoolGroup& group, int workers, bool spins)
    : LaneQueue(this),
      engine_(engine),
      group_(group),
      spins_(spins),
      openmp_(engine.options().cpu_workers),
      float_control_(base::float_control()),
      taken_(/*order_is_exact=*/workers == 1),
      idle_(static_cast<std::size_t>(workers)) {
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, engine.ledger().new_mailbox()));
  }
  try {
    for (const auto& worker : workers_) group_.start(*worker);
  } catch (...) {
    stop();
    group_.stop(*this);
    throw;
  }
}

void WorkerPool::stop() {
  const std::lock_guard lock(mutex_);
  stopping_.store(true);
}

void WorkerPool::put(ReadyNode& node) {
  if (KeptNodes::take(*this, node)) return;
  const int priority = node.priority();
  const std::uint64_t sequence = node.sequence;
  const std::size_t number = inbox_.put(node);
  Worker* woken = nullptr;
  if (number == Inbox::kFull) {
    const std::lock_guard lock(mutex_);
    empty_inbox();
    queue_.push(node);
    woken = claim_sleeper();
  }
  if (taken_.is_urgent(priority, sequence)) taken_.call_back();
  if (number != Inbox::kFull && idle_.sleeping() != 0 && inbox_.is_first(number)) {
    const std::lock_guard lock(mutex_);
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
}

void WorkerPool::empty_inbox() {
  inbox_.take_all([this](ReadyNode& node) { queue_.push(node); });
}

void WorkerPool::join_group(std::size_t number) {
  number_ = number;
  in_group_.store(true);
}

bool WorkerPool::lacks_searcher() const {
  return idle_.lack_searcher() && !(may_stand_in() && group_.is_looked_after(*this));
}

bool WorkerPool::lacks_worker() const {
  if (!idle_.lack_searcher()) return false;
  if (!inbox_.empty() || has_queue_.load() || !open_runs_.empty()) return true;
  return (takes_arrivals() && engine_.ledger().intake().has_arrivals()) || has_batch();
}

bool WorkerPool::awaits_worker() const { return idle_.are_all_coming() && seems_to_have_work(); }

bool WorkerPool::takes_arrivals() const {
  if (!in_group_.load()) return true;
  return !group_.has_tour() && (engine_.ledger().intake().seem_fewer(base::kFewestInStretch) ||
                                !group_.has_queued(*this));
}

bool WorkerPool::has_work() const {
  return !inbox_.empty() || has_queue_.load() || open_runs_.has_ready() ||
         (takes_arrivals() && engine_.ledger().intake().has_arrivals());
}

/// Of several lanes whose operations wait for each other the others mostly sleep: none is woken for
/// what is not ready. If they are small that is soon, and who takes them in would keep them from
/// being run on tour.
void WorkerPool::expect_arrival() {
  if (idle_.sleeping() == 0 || !idle_.lack_searcher()) return;
  // Small operations of several lanes had better be run by the thread that is on its way.
  if (may_stand_in() && group_.is_looked_after(*this, /*may_come=*/group_.are_tiny())) return;
  if (!engine_.has_one_queue() && !group_.are_tiny()) {
    engine_.take_in();
    if (!engine_.ledger().intake().seems_to_have_arrivals()) return;  // else it lacks memory
  }
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    woken = claim_sleeper();
  }
  group_.wake_for_push(woken);
}

Worker* WorkerPool::claim() {
  const std::lock_guard lock(mutex_);
  if (idle_.lack_searcher()) return claim_one();
  return awaits_worker() && !stopping_.load() ? idle_.recall() : nullptr;
}

Worker* WorkerPool::claim_one() {
  if (!idle_.can_claim() || !has_free_seat()) return nullptr;
  return has_work() || has_batch() ? &idle_.claim() : nullptr;
}

/// That counts as work, too: its worker may be at something long, as all may have to run at the
/// same time.
bool WorkerPool::has_batch() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->batch.has_some(); });
}

Worker* WorkerPool::claim_sleeper() {
  const bool has_queue = !queue_.empty();
  if (has_queue_.load(std::memory_order_relaxed) != has_queue) has_queue_.store(has_queue);
  Worker* const worker = lacks_searcher() ? claim_one() : nullptr;
  if (worker != nullptr) idle_.expect(*worker);
  return worker;
}

void WorkerPool::submit(ReadyList operations) {
  while (Operation* const op = operations.pop()) put(*op);
}

void WorkerPool::raise(Operation& operation, int from, int to) {
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    empty_inbox();
    move_up(operation, from, to);
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
}

void WorkerPool::raise_runs() {
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    empty_inbox();
    open_runs_.raise_items(
        [this](GraphItem& item, int before) { move_up(item, before, item.priority()); });
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
}

/// `node`, if it is in the queue, or a worker has taken it along and has not begun it, has got a
/// higher priority.
void WorkerPool::move_up(ReadyNode& node, int from, int to) {
  if (!queue_.raise(node, from, to)) {
    const auto has_it = [&node](const auto& worker) { return worker->batch.remove(node); };
    if (std::none_of(workers_.begin(), workers_.end(), has_it)) return;
    queue_.push(node);
  }
  if (taken_.is_urgent(to, node.sequence)) taken_.call_back();
}

void WorkerPool::execute(const device::Work& work) noexcept { put(items_.make(work)); }

void WorkerPool::return_batch(Worker& me) {
  me.batch.give_back([this](const ReadyPlace& place) { queue_.put_back(place); });
  if (!queue_.empty() && !has_queue_.load()) has_queue_.store(true);
}

ReadyNode* WorkerPool::from_batch(Worker& me) {
  if (me.batch.empty()) return nullptr;
  if (!taken_.is_current(me.taken_at)) {
    const std::lock_guard lock(mutex_);
    return_batch(me);
    return nullptr;
  }
  return me.batch.pop();
}

/// Until the batch is known whatever comes may have to go first.
void WorkerPool::begin_taking(TakenAlong::Mark& mark) {
  mark = taken_.begin();
  empty_inbox();
}

ReadyNode* WorkerPool::take(Worker& me) {
  const bool exact = workers_.size() == 1;
  begin_taking(me.taken_at);
  const std::uint32_t waits = engine_.ledger().waits_begun();
  const bool has_waited = std::exchange(me.waits_seen, waits) != waits;
  me.is_fed = !has_waited && queue_.size() < kEnough && !queue_.empty() &&
              engine_.ledger().intake().seem_fewer(kEnough);
  const ReadyPlace first = queue_.take();
  // Few, so that something is left for each of the others also if these take long, or all where the
  // others nap. With one worker none that came before its turn: the next might have to go first.
  const bool are_many = are_small_beside_streams();
  const std::size_t share = are_many ? queue_.size() : queue_.size() / (2 * workers_.size());
  const bool may_take = !exact || queue_.in_order();
  // None whose patience is at an end: it would wait again if the batch has to go back.
  const std::size_t count = may_take ? std::min({kFewAlong, share, queue_.patience_left()}) : 0;
  if (count == 0) {
    taken_.none();
    return first.node;
  }
  me.kept = 0;
  me.batch.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const ReadyPlace place = queue_.take();
    base::prefetch_lines(place.node, Operation::kFirstLine, Operation::kTaskLine);
    me.batch.add(place);
  }
  tell_taken(me.taken_at, me.batch.last().priority, me.batch.last().sequence);
  return first.node;
}

void WorkerPool::tell_taken(TakenAlong::Mark& mark, int priority, std::uint64_t sequence) {
  if (taken_.tell(priority, sequence) && !inbox_.empty()) --mark;  // not current any more
}

/// Where operations are small, takes along all of `ready`, if it stands in the order in which they
/// would leave the queue, but for what must be left so that others see that there is something: of
/// what is taken along they take the last. With the lock.
void WorkerPool::take_along(Worker& me, ReadyList& ready) {
  if (!is_fine() || !me.batch.empty()) return;
  begin_taking(me.taken_at);
  std::size_t count = 0;
  const Operation* before = nullptr;
  const bool stays_in_order = ready.all([&](const Operation& op) {
    const Operation* const last = std::exchange(before, &op);
    if (op.queue != this || ++count > Batch::kMost) return false;
    return last == nullptr || (last->priority() == op.priority() && last->sequence < op.sequence);
  });
  const bool is_all = stays_in_order && queue_.empty() && open_runs_.empty();
  if (!is_all || count < workers_.size()) {
    taken_.none();
    return;
  }
  me.kept = 0;
  me.batch.begin();
  for (count -= workers_.size() - 1; count != 0; --count) {
    me.batch.add(queue_.pass(*ready.pop()));
  }
  tell_taken(me.taken_at, me.batch.last().priority, me.batch.last().sequence);
}

ReadyNode* WorkerPool::steal(const Worker& me) {
  for (const auto& worker : workers_) {
    if (worker.get() == &me) continue;
    if (ReadyNode* const node = worker->batch.steal()) return node;
  }
  return nullptr;
}

bool WorkerPool::could_defer(const Worker& me) const {
  if (workers_.size() == 1 || !engine_.has_one_queue()) return false;
  if (engine_.ledger().is_urgent()) return false;
  // Else it is idle next.
  return !me.batch.empty() || seems_to_have_work() ||
         engine_.ledger().intake().seems_to_have_arrivals();
}

bool WorkerPool::may_defer(const Worker& me) {
  if (!could_defer(me)) return false;
  deferred_.add();
  return idle_.searching() == 0 && (idle_.sleeping() == 0 || idle_.napping() != 0);
}

void WorkerPool::end(Worker& me, Operation& op, ReadyList& ready) {
  Ledger& ledger = engine_.ledger();
  const Awaited known = op.awaited.load(std::memory_order_relaxed);
  const bool at_once = known == Awaited::kUrgently || (known != Awaited::kNo && !could_defer(me));
  if (at_once && ledger.try_end(op, ready)) return;
  // What is posted may be taken note of by a thread that hands on later what becomes ready; so
  // where the order is exact it is not, unless nothing else could be run meanwhile.
  if (at_once && workers_.size() == 1 &&
      (!me.batch.empty() || seems_to_have_work() || ledger.intake().seems_to_have_arrivals())) {
    ledger.end(op, ready);
    return;
  }
  const Awaited awaited = ledger.post(me.mailbox, op, ready);
  if (awaited == Awaited::kNo) return;
  if (awaited != Awaited::kUrgently && may_defer(me)) return;
  ledger.collect_or_leave(ready, [this](ReadyList& list) { engine_.dispatch_to_workers(list); });
}

void WorkerPool::collect_deferred() {
  if (deferred_.take()) engine_.collect();
}

void WorkerPool::collect_overdue() {
  if (deferred_.are_overdue()) collect_deferred();
}

ReadyNode* WorkerPool::next(Worker& me) {
  if (ReadyNode* const node = from_batch(me)) return node;
  if (me.looks_around() && !me.self->is_searching) {
    look_around(me);
    if (ReadyNode* const node = from_batch(me)) return node;
  }
  if (me.is_fed && spins_ && engine_.has_one_queue()) let_come();
  return search(me);
}

bool WorkerPool::work(Worker& me) {
  const PoolThread& self = *me.self;
  while (self.worker.load() == &me) {
    ReadyNode* const node = next(me);
    if (node == nullptr) break;
    run(me, *node);
  }
  return !stopping_.load();
}

void WorkerPool::run(Worker& me, ReadyNode& first) {
  ReadyNode* node = &first;
  while (node != nullptr) {
    switch (node->type) {
      case ReadyNode::Type::kOperation:
        node = run_operation(me, static_cast<Operation&>(*node));
        break;
      case ReadyNode::Type::kGraph:
        node = run_recorded(me, static_cast<GraphItem&>(*node));
        break;
      case ReadyNode::Type::kStretch:
        node = run_stretch(me);
        break;
      case ReadyNode::Type::kWork:
        node = run_work(me, static_cast<StreamItem&>(*node));
        break;
    }
    collect_overdue();
  }
}

ReadyNode* WorkerPool::run_operation(Worker& me, Operation& op) {
  if (engine_.ledger().is_uncovered(op.generation)) engine_.collect();
  ReadyList ready;
  const std::int64_t begin = me.begin_measuring();
  const bool ends = engine_.run(op, ready);
  if (begin != 0) end_measuring(me, begin);
  if (ends) end(me, op, ready);
  return ready.empty() ? nullptr : go_on_with(me, ready);
}

/// Dispatches `ready`, but for what the worker runs itself.
ReadyNode* WorkerPool::go_on_with(Worker& me, ReadyList& ready) {
  Operation* const mine = ready.take_most_urgent_of(*this);
  const bool may_come_back = mine == nullptr && !ready.all(ThreadedEngine::is_for_worker);
  if (may_come_back && ready.all(ThreadedEngine::runs_elsewhere)) {
    KeptNodes kept(*this);
    engine_.dispatch(ready);
    return go_on_with(me, kept);
  }
  if (mine == nullptr) search_early(me, ready);
  if (!ready.empty()) engine_.dispatch(ready);
  if (mine == nullptr) return nullptr;
  if (engine_.tracing()) mine->extras->ready_at = now_ns();
  return keep_or_queue(me, *mine);
}

ReadyNode* WorkerPool::run_work(Worker& me, StreamItem& item) {
  const device::Work work = items_.end(item);
  // Nobody knows here which wait covers it.
  if (engine_.ledger().is_waited_for_all()) engine_.collect();
  const std::int64_t begin = me.begin_measuring();
  work.run(work.argument);
  if (begin != 0) end_measuring(me, begin);
  KeptNodes kept(*this);
  work.finished(work.argument);
  return go_on_with(me, kept);
}

ReadyNode* WorkerPool::keep_or_queue(Worker& me, ReadyNode& node) {
  if (me.looks_around()) look_around(me);
  const bool has_batch = me.batch.drop_stolen();
  const bool batch_is_current = taken_.is_current(me.taken_at);
  if (has_batch && batch_is_current && me.kept < kMaxKept &&
      goes_before(ReadyPlace::of(node), me.batch.first())) {
    ++me.kept;
    queue_.overtake();  // what is taken along may go back there
    return &node;
  }
  if (!has_batch && me.batch.empty() && !seems_to_have_work()) return &node;
  ReadyNode* const one = &node;
  return queue_and_take(me, {&one, 1});
}

ReadyNode* WorkerPool::go_on_with(Worker& me, KeptNodes& kept) {
  const std::span<ReadyNode* const> nodes = kept.end();
  if (nodes.empty()) return nullptr;
  if (nodes.size() == 1) return keep_or_queue(me, *nodes.front());
  if (me.looks_around()) look_around(me);
  return queue_and_take(me, nodes);
}

ReadyNode* WorkerPool::queue_and_take(Worker& me, std::span<ReadyNode* const> nodes) {
  ReadyNode* next = nullptr;
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    empty_inbox();
    for (ReadyNode* const node : nodes) {
      if (taken_.is_urgent(node->priority(), node->sequence)) taken_.call_back();
      queue_.push(*node);
    }
    if (me.batch.empty()) {
      next = join_first();
      if (next == nullptr) next = nodes.size() == 1 ? queue_.pop() : take(me);
      const bool is_run = next != nullptr && next->type == ReadyNode::Type::kGraph;
      if (is_run) me.pass.note(queue_, static_cast<GraphItem&>(*next), workers_.size());
    }
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
  return next;
}

}  // namespace heddle::detail
