#include <mutex>

#include "engine/graph_run.h"
#include "engine/threaded_engine.h"
#include "engine/worker_pool.h"

// How workers take part in the runs of recordings.

namespace heddle::detail {
namespace {

/// Operations of a run that a worker executes between two looks at what else is waiting.
constexpr std::uint32_t kTurnEvery = 16;

/// As long as it lives others can see what run a worker is at.
class AtRun {
 public:
  AtRun(Worker& worker, const GraphRun& run, int priority) : worker_(worker) {
    worker_.run_priority.store(priority, std::memory_order_relaxed);
    worker_.run_sequence.store(run.sequence(0), std::memory_order_relaxed);
  }
  ~AtRun() { worker_.run_sequence.store(0, std::memory_order_relaxed); }
  AtRun(const AtRun&) = delete;
  AtRun& operator=(const AtRun&) = delete;

 private:
  Worker& worker_;
};

/// A pusher waits for what `me` has ended.
bool makes_room(const Worker& me, const PendingLimit& limit) {
  return limit.has_line() && (me.ran % kTurnEvery == 0 || !me.pool.is_fine());
}

/// False if nothing of its run is ready; then it may be gone.
bool stays(GraphItem& item) {
  GraphRun& run = *item.run;
  const GraphRun::Left left = run.leave(item);
  if (left == GraphRun::Left::kLast) delete &run;
  return left == GraphRun::Left::kNot;
}

}  // namespace

ReadyNode* WorkerPool::run_recorded(Worker& me, GraphItem& item) {
  GraphRun& run = *item.run;
  const AtRun at_run(me, run, item.priority());
  me.pass = {};
  run.choose(item);  // others may have become ready while it was in a queue
  for (;;) {
    const Outcome outcome = run_row(me, item);
    const std::uint32_t ended = item.at();
    GraphRun::Step step = run.end(item, ended, outcome);
    if (step.wants_help) wake_one();
    if (step.outranks) raise_runs();
    if (step.in_order && step.has_more) {
      if (!step.ended.empty()) engine_.post_recorded(run, me.mailbox, step.ended);
    } else if (step.in_order || !step.ended.empty()) {
      end_uses(item, ended, step);  // in order the next operation may wait for what is posted
    }
    if (!step.has_more && !stays(item)) return nullptr;
    if (makes_room(me, engine_.ledger().limit())) engine_.collect();
    if (me.looks_around()) look_around(me, &run);
    if (!is_wanted_elsewhere(me)) {
      me.pass.use();
      continue;
    }
    run.put_off(item);
    me.run_priority.store(item.priority(), std::memory_order_relaxed);
    ReadyNode* const one = &item;
    ReadyNode* const first =
        me.batch.empty() ? queue_and_take(me, {&one, 1}) : keep_or_queue(me, item);
    if (first != &item) return first;
    run.choose(item);  // and goes on, so that others see it at the run all the time
  }
}

/// Runs what the item has, up to the first that does not complete, or after which the worker has to
/// look at something else: item.at(). Returns how that has ended.
Outcome WorkerPool::run_row(Worker& me, GraphItem& item) {
  GraphRun& run = *item.run;
  const std::uint32_t last = item.last_of_worker;
  for (std::uint32_t i = item.at();; ++i) {
    if (i != last) run.fetch_ahead(i + 1);
    collect_overdue();
    if (engine_.ledger().is_uncovered(run.generation())) engine_.collect();
    const std::int64_t begin = me.begin_measuring();
    const Outcome outcome = engine_.execute_recorded(run, i);
    bool has_left_order = false;
    if (begin != 0) {
      // Else it is not known whether they come one after the other.
      const bool had_last = me.measures() && me.measured_at != 0;
      const bool is_fine = end_measuring(me, begin);
      has_left_order = (had_last || !is_tiny()) && run.measured(is_fine);
      if (has_left_order) engine_.collect();
    }
    if (i == last || outcome != Outcome::kCompleted || has_left_order) return outcome;
    if (makes_room(me, engine_.ledger().limit()) || me.looks_around()) return outcome;
    if (is_wanted_elsewhere(me) || !item.claim_after(i)) return outcome;
    me.pass.use();
  }
}

/// At its batch, at what is in the queue, or now and then at another run.
bool WorkerPool::is_wanted_elsewhere(const Worker& me) const {
  if (!me.batch.empty() || !inbox_.seems_empty()) return true;
  if (has_queue_.load() && !me.pass.goes_first()) return true;
  return me.ran % kTurnEvery == 0 && open_runs_.count() > 1;
}

/// After operation `op` of the item's run.
void WorkerPool::end_uses(GraphItem& item, std::uint32_t op, GraphRun::Step& step) {
  GraphRun& run = *item.run;
  if (engine_.end_recorded(run, op, step)) {
    close(run);
    run.end_run();
  } else {
    step.has_more = run.choose(item);  // what the uses have made ready may go first
  }
}

void WorkerPool::open(GraphRun& run) {
  group_.expect_wake();
  const std::lock_guard lock(mutex_);
  open_runs_.add(run);
}

void WorkerPool::close(GraphRun& run) {
  const std::lock_guard lock(mutex_);
  open_runs_.remove(run);
}

ReadyPlace WorkerPool::run_of_first() const {
  const Worker& worker = *workers_.front();
  return {.sequence = worker.run_sequence.load(std::memory_order_relaxed),
          .priority = worker.run_priority.load(std::memory_order_relaxed)};
}

void WorkerPool::wake_one(bool is_for_push) {
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    woken = claim_sleeper();
  }
  is_for_push ? group_.wake_for_push(woken) : PoolGroup::wake(woken);
}

ReadyNode* WorkerPool::join_first() {
  if (open_runs_.empty()) return nullptr;
  empty_inbox();
  return open_runs_.join(queue_.first());
}

}  // namespace heddle::detail
