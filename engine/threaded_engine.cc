#include "engine/threaded_engine.h"

#include <climits>
#include <utility>

#include <unistd.h>

#include "engine/async_state.h"
#include "engine/operation_scope.h"

namespace heddle::detail {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_in(std::chrono::milliseconds limit) {
  constexpr std::chrono::hours kForEver{24 * 365};
  return limit > kForEver ? Clock::time_point::max() : Clock::now() + limit;
}

/// Workers had the variables last.
void fetch(VarList variables) {
  for (std::size_t i = 0; i < variables.size(); ++i) __builtin_prefetch(variables[i], 1);
}

/// For the process is about to end, and this thread must not start anything any more.
[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

}  // namespace

/// Ends an asynchronous operation together with its callable: whoever is last.
struct ThreadedEngine::OpCompletion final : AsyncState {
  OpCompletion(std::shared_ptr<EngineCore> owner, Operation& op)
      : AsyncState(std::move(owner), op.name.str(), op.sequence, op.device), operation(op) {}

  void complete(std::exception_ptr error) override {
    operation.failed = std::move(error);
    if (operation.parts.fetch_sub(1) != 1) return;
    auto& owner = static_cast<ThreadedEngine&>(*engine);
    // Not finish(): once nothing is pending the engine may be closed, and its queues be gone, while
    // this thread, which nobody joins, still hands operations to them.
    ReadyList ready;
    owner.end(operation, ready);
    owner.dispatch(ready);
    owner.pending_.release();
  }

  Operation& operation;
};

ThreadedEngine::ThreadedEngine(const EngineOptions& options)
    : EngineCore(options),
      tracker_(*this),
      pending_(options.max_pending),
      trace_(options.trace),
      router_(*this) {}

ThreadedEngine::~ThreadedEngine() { router_.stop(); }

bool ThreadedEngine::admit(AdmissionMode mode) {
  const bool inside = OperationScope::current() != nullptr;
  return pending_.acquire(inside ? AdmissionMode::kForce : mode);
}

std::unique_ptr<Operation> ThreadedEngine::new_operation() {
  const std::lock_guard lock(supply_lock_);
  return std::unique_ptr<Operation>(supply_.take());
}

std::uint64_t ThreadedEngine::submit(Submission&& submission) {
  std::uint64_t sequence = 0;
  ReadyList ready;
  fetch(submission.mutates);
  fetch(submission.reads);
  try {
    std::unique_ptr<Operation> op = new_operation();
    op->begin(submission.reads.size() + submission.mutates.size());
    const PushOptions& options = submission.options;
    op->name.assign(options.name);
    op->device = options.device;
    op->lane = options.lane;
    op->priority = options.priority;
    op->kind = submission.kind;
    op->overwrites = options.overwrites;
    op->brief = options.brief;
    op->task = std::move(submission.task);
    op->is_async = static_cast<bool>(submission.async_task);
    if (op->is_async) op->async_task = std::move(submission.async_task);
    op->queue = nullptr;
    op->on_stream = op->follows_issued = false;
    if (op->is_async) op->parts.store(2, std::memory_order_relaxed);
    const bool is_free = op->kind == Submission::Kind::kDelete;
    if ((op->task || op->is_async) && !(is_free && op->brief)) {
      op->queue = &router_.find(op->device, op->lane);
      op->on_stream = op->queue->is_stream();
      if (op->on_stream) op->token = {};
      // A copy that stands in its stream while it waits for a far-off producer would hold up every
      // copy behind it: there it is better to wait on the host, where priorities count.
      op->follows_issued = op->on_stream && op->lane == Lane::kCompute;
    }
    // What a variable's end gives back is wanted by what is to come.
    if (is_free) op->priority = INT_MAX;
    if (tracing()) op->pushed_at = now_ns();
    sequence = tracker_.push(*op, submission.reads, submission.mutates, ready);
    static_cast<void>(op.release());
  } catch (...) {
    pending_.release();
    throw;
  }
  dispatch(ready);
  return sequence;
}

void ThreadedEngine::dispatch(ReadyList& ready) {
  while (Operation* op = ready.pop()) {
    if (tracing()) op->ready_at = now_ns();
    if (op->queue == nullptr) {
      execute(*op);
      finish(*op, ready);
      continue;
    }
    LaneQueue& queue = *op->queue;
    ReadyList batch;
    batch.push(*op);
    while (ready.front() != nullptr && ready.front()->queue == &queue) {
      Operation* const next = ready.pop();
      next->ready_at = op->ready_at;
      batch.push(*next);
    }
    queue.submit(batch);
  }
}

void ThreadedEngine::execute(Operation& op) {
  // What runs inline may be run by the thread that ends the process.
  if (op.queue != nullptr && halted_.load(std::memory_order_relaxed)) sleep_for_ever();
  const OperationScope scope(this, op.name, op.sequence, op.device, op.lane, op.generation);
  if (tracing()) op.started_at = now_ns();
  bool skip = false;
  if (op.kind == Submission::Kind::kRun) {
    op.cancelled = cancelling_.load(std::memory_order_relaxed);
    op.met_poison = Tracker::inherited(op) != nullptr;
    skip = op.cancelled || op.met_poison;
  }
  RunContext context{op.device, op.lane, op.sequence, this};
  if (op.is_async && !skip) {
    call_async(op, context);
    return;
  }
  if (op.is_async) op.parts.store(1, std::memory_order_relaxed);
  if (skip && tracing()) op.started_at = 0;
  try {
    if (!skip && op.task) op.task(context);
  } catch (...) {
    op.thrown = std::current_exception();
  }
  try {
    op.task.reset();
    if (op.is_async) op.async_task.reset();
  } catch (...) {
    if (op.thrown == nullptr) op.thrown = std::current_exception();
  }
}

void ThreadedEngine::call_async(Operation& op, RunContext& context) {
  const auto state = std::make_shared<OpCompletion>(shared_from_this(), op);
  try {
    op.async_task(context, Completion(state));
  } catch (...) {
    op.thrown = std::current_exception();
  }
  try {
    op.async_task.reset();
  } catch (...) {
    if (op.thrown == nullptr) op.thrown = std::current_exception();
  }
  if (op.thrown == nullptr) return;
  switch (state->abandon()) {
    case AsyncState::Abandoned::kOpen:
      op.parts.fetch_sub(1);
      break;
    case AsyncState::Abandoned::kDropped:
      break;
    case AsyncState::Abandoned::kUsed:
      report(OpError(op.name.str(), op.sequence, op.device, std::exchange(op.thrown, nullptr)));
      break;
  }
}

void ThreadedEngine::after_callable(Operation& op, ReadyList& ready) {
  if (op.is_async) {
    if (op.parts.fetch_sub(1) == 1) finish(op, ready);
  } else if (!op.on_stream || tracker_.may_end(op)) {
    finish(op, ready);
  }
}

void ThreadedEngine::finish(Operation& op, ReadyList& ready) {
  end(op, ready);
  pending_.release();
}

void ThreadedEngine::end(Operation& op, ReadyList& ready) {
  Outcome outcome = Outcome::kCompleted;
  FailurePtr poison;
  // Of a stream's operation only now is it final.
  if (op.met_poison || op.on_stream) poison = Tracker::inherited(op);
  if (poison == nullptr && op.cancelled) {
    poison = std::make_shared<Failure>(Failure{op.sequence, std::nullopt});
  }
  if (poison != nullptr) {
    outcome = poison->error ? Outcome::kSkipped : Outcome::kCancelled;
    (poison->error ? failed_ : cancelled_).fetch_add(1, std::memory_order_relaxed);
  } else if (const std::exception_ptr error = op.thrown != nullptr ? op.thrown : op.failed) {
    outcome = Outcome::kFailed;
    poison = std::make_shared<Failure>(
        Failure{op.sequence, OpError(op.name.str(), op.sequence, op.device, error)});
    errors_.add(poison);
    failed_.fetch_add(1, std::memory_order_relaxed);
  } else {
    completed_.add();
  }
  if (tracing()) keep_record(op, outcome);
  if (op.thrown != nullptr || op.failed != nullptr) op.thrown = op.failed = nullptr;
  if (tracing()) op.ready_at = op.issued_at = op.started_at = 0;
  tracker_.done(op, poison, ready);
}

void ThreadedEngine::keep_record(const Operation& op, Outcome outcome) {
  const std::int64_t done = now_ns();
  const auto or_done = [done](std::int64_t time) { return time != 0 ? time : done; };
  OpRecord record;
  record.sequence = op.sequence;
  record.name = op.name.str();
  record.device = op.device;
  record.lane = op.lane;
  record.outcome = outcome;
  record.pushed = op.pushed_at;
  record.ready = or_done(op.ready_at);
  record.started = or_done(op.started_at);
  record.issued = op.issued_at != 0 ? op.issued_at : record.started;
  record.done = done;
  trace_.add(std::move(record));
}

void ThreadedEngine::wait_for_var(VarState* var, bool reads_too) {
  const FailurePtr poison = tracker_.wait_for_var(var, reads_too);
  if (poison == nullptr) return;
  errors_.mark_reported(*poison);
  raise(*poison);
}

void ThreadedEngine::wait_for_all() {
  tracker_.wait_for_all();
  errors_.raise_all();
  if (cancelled_.load() != 0) {
    throw EngineStopped("operations were cancelled: the engine was shut down");
  }
}

void ThreadedEngine::report(OpError error) {
  const std::uint64_t sequence = error.sequence();
  errors_.add(std::make_shared<Failure>(Failure{sequence, std::move(error)}));
}

ShutdownReport ThreadedEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  if (mode == ShutdownMode::kCancel) cancelling_.store(true);
  pending_.stop();
  ShutdownReport report;
  if (!pending_.wait_until_empty(deadline_in(deadline))) {
    report.abandoned = pending_.pending();
    abandoned_.store(true);
    tracker_.stop_waiters();
  }
  report.completed = completed_.sum();
  report.failed = failed_.load();
  report.cancelled = cancelled_.load();
  return report;
}

bool ThreadedEngine::close() {
  if (abandoned_.load() && pending_.pending() != 0) return false;
  pending_.wait_until_empty(Clock::time_point::max());
  router_.stop();
  return true;
}

void ThreadedEngine::finish_at_exit(std::chrono::milliseconds limit) {
  if (!pending_.wait_until_empty(Clock::now() + limit)) halted_.store(true);
}

}  // namespace heddle::detail
