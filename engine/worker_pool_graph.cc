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
  run.choose(item);  // others may have become ready while it was in a queue
  for (;;) {
    collect_overdue();
    if (engine_.ledger().is_uncovered(run.generation())) engine_.collect();
    const std::int64_t begin = me.begin_measuring();
    const Outcome outcome = engine_.execute_recorded(run, item.op);
    if (begin != 0) {
      // Else it is not known whether they come one after the other.
      const bool had_last = me.measures() && me.measured_at != 0;
      const bool is_fine = end_measuring(me, begin);
      if ((had_last || !is_tiny()) && run.measured(is_fine)) engine_.collect();
    }
    const std::uint32_t ended = item.op;
    GraphRun::Step step = run.end(item, outcome);
    if (step.wants_help) wake_one();
    if (step.in_order && item.op != GraphItem::kNone) {
      if (!step.ended.empty()) engine_.post_recorded(run, me.mailbox, step.ended);
    } else if (step.in_order || !step.ended.empty()) {
      end_uses(item, ended, step);  // in order the next operation may wait for what is posted
    }
    if (item.op == GraphItem::kNone && !stays(item)) return nullptr;
    const bool is_turn = me.ran % kTurnEvery == 0;
    if (engine_.ledger().limit().has_line() && (is_turn || !is_fine())) engine_.collect();
    if (me.looks_around()) look_around(me, &run);
    const bool looks = open_runs_.count() > 1 && is_turn;
    const bool has_batch = !me.batch.empty();
    if (!looks && !has_batch && !seems_to_have_work()) continue;
    run.put_off(item);
    ReadyNode* const one = &item;
    return has_batch ? keep_or_queue(me, item) : queue_and_take(me, {&one, 1});
  }
}

/// After operation `op` of the item's run.
void WorkerPool::end_uses(GraphItem& item, std::uint32_t op, GraphRun::Step& step) {
  GraphRun& run = *item.run;
  if (engine_.end_recorded(run, op, step)) {
    close(run);
    run.end_run();
  } else {
    run.choose(item);  // what the uses have made ready may go first
  }
}

void WorkerPool::open(GraphRun& run) {
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

void WorkerPool::wake_one() {
  Worker* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    woken = claim_sleeper();
  }
  PoolGroup::wake(woken);
}

ReadyNode* WorkerPool::join_first() {
  if (open_runs_.empty()) return nullptr;
  empty_inbox();
  return open_runs_.join(queue_.first());
}

}  // namespace heddle::detail
