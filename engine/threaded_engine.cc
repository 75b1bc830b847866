#include "engine/threaded_engine.h"

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

/// Others may have had the variables last.
void fetch(VarList variables) {
  for (std::size_t i = 0; i < variables.size(); ++i) __builtin_prefetch(variables[i], 1);
}

/// For the process is about to end, and this thread must not start anything any more.
[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

/// What was thrown, or what the Completion failed with.
const std::exception_ptr& error_of(const Operation& op) {
  return op.thrown != nullptr || !op.is(Operation::kAsync) ? op.thrown : op.extras->failed;
}

}  // namespace

/// What a call on the ledger makes ready; dispatched when the call is over.
struct ThreadedEngine::Ready {
  explicit Ready(const ThreadedEngine& owner) : engine(const_cast<ThreadedEngine&>(owner)) {}
  ~Ready() { engine.dispatch(list); }
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;

  ThreadedEngine& engine;
  ReadyList list;
};

/// Ends an asynchronous operation together with its callable: whoever is last.
struct ThreadedEngine::OpCompletion final : AsyncState {
  OpCompletion(std::shared_ptr<EngineCore> owner, Operation& op)
      : AsyncState(std::move(owner), std::string(op.name()), op.sequence, op.device),
        operation(op) {}

  void complete(std::exception_ptr error) override {
    operation.extras->failed = std::move(error);
    if (operation.extras->parts.fetch_sub(1) != 1) return;
    auto& owner = static_cast<ThreadedEngine&>(*engine);
    owner.settle(operation);
    // Keeps its place for now: once nothing is pending the engine may be closed, and its queues be
    // gone, while this thread, which nobody joins, still hands operations to them.
    ReadyList ready;
    owner.ledger_.end(operation, ready, /*keeps_place=*/true);
    owner.dispatch(ready);
    owner.ledger_.give_back_place();
  }

  Operation& operation;
};

ThreadedEngine::ThreadedEngine(const EngineOptions& options)
    : EngineCore(options),
      ledger_(*this, options.max_pending),
      trace_(options.trace),
      watchdog_(
          options.watchdog, [this] { return progress(); }, [this] { return describe_pending(); }),
      router_(*this) {}

ThreadedEngine::~ThreadedEngine() {
  watchdog_.stop();
  router_.stop();
}

bool ThreadedEngine::try_admit() {
  Ready ready(*this);
  const bool inside = OperationScope::current() != nullptr;
  PendingLimit& limit = ledger_.limit();
  if (!inside && limit.has_line() && !limit.stopped()) return false;
  return ledger_.try_admit(ready.list, /*forced=*/inside);
}

Route ThreadedEngine::route(const Submission& submission) {
  Route route;
  const PushOptions& options = *submission.options;
  const bool has_callable = submission.task != nullptr || submission.async_task != nullptr;
  const bool inline_free = submission.kind == Submission::Kind::kDelete && options.brief;
  if (has_callable && !inline_free) {
    route.queue = &router_.find(options.device, options.lane);
    route.on_stream = route.queue->is_stream();
    // A copy that stands in its stream while it waits for a far-off producer would hold up every
    // copy behind it: there it is better to wait on the host, where priorities count.
    route.follows_issued = route.on_stream && options.lane == Lane::kCompute;
  }
  route.has_extras = route.on_stream || submission.async_task != nullptr || tracing();
  return route;
}

std::uint64_t ThreadedEngine::submit(Submission&& submission) {
  using Admission = Submission::Admission;
  fetch(submission.mutates);
  fetch(submission.reads);
  if (submission.admission == Admission::kBlock && OperationScope::current() != nullptr) {
    submission.admission = Admission::kForced;
  }
  Route where;
  try {
    where = route(submission);
  } catch (...) {
    if (submission.admission == Admission::kAdmitted) ledger_.give_back_place();
    throw;
  }
  if (tracing()) submission.pushed_at = now_ns();
  for (;;) {
    {
      Ready ready(*this);
      if (const auto sequence = ledger_.push(submission, where, ready.list)) return *sequence;
    }
    wait_for_room();
    submission.admission = Admission::kAdmitted;
  }
}

Route ThreadedEngine::inspect(const Submission& submission) {
  ledger_.check(submission);
  return route(submission);
}

std::uint64_t ThreadedEngine::submit_block(ProgramRun& run) {
  using Admission = Submission::Admission;
  const bool inside = OperationScope::current() != nullptr;
  Block block{.run = run,
              .admission = inside ? Admission::kForced : Admission::kBlock,
              .pushed_at = tracing() ? now_ns() : 0};
  Ready ready(*this);
  for (;;) {
    switch (ledger_.push_some(block, ready.list)) {
      case Ledger::Pushed::kAll:
        return block.first;
      case Ledger::Pushed::kSome:
        dispatch_to_workers(ready.list);
        break;
      case Ledger::Pushed::kNone:
        dispatch(ready.list);
        wait_for_room();
        block.admission = Admission::kAdmitted;
        break;
    }
  }
}

void ThreadedEngine::dispatch_to_workers(ReadyList& ready) {
  ReadyList now;
  ReadyList later;
  while (Operation* const op = ready.pop()) {
    const bool for_worker = op->queue != nullptr && !op->queue->is_stream();
    (for_worker ? now : later).push(*op);
  }
  dispatch(now);
  ready = later;
}

void ThreadedEngine::wait_for_room() {
  ledger_.limit().wait_for_room([this] {
    Ready ready(*this);
    return ledger_.try_admit(ready.list, /*forced=*/false);
  });
}

void ThreadedEngine::dispatch(ReadyList& ready) {
  while (Operation* op = ready.pop()) {
    const std::int64_t now = tracing() ? now_ns() : 0;
    if (tracing()) op->extras->ready_at = now;
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
      if (tracing()) next->extras->ready_at = now;
      batch.push(*next);
    }
    queue.submit(batch);
  }
}

void ThreadedEngine::collect() {
  Ready ready(*this);
  ledger_.collect(ready.list);
}

void ThreadedEngine::execute(Operation& op) {
  // What runs inline may be run by the thread that ends the process.
  if (op.queue != nullptr && halted_.load(std::memory_order_relaxed)) sleep_for_ever();
  const OperationScope scope(this, op.name(), op.sequence, op.device, op.lane, op.generation);
  op.phase.store(Operation::Phase::kRunning, std::memory_order_relaxed);
  if (tracing()) op.extras->started_at = now_ns();
  // A stream may run it while what it waits for on the device is still to come.
  if (op.is(Operation::kOnStream)) op.failure = ledger_.inherited_so_far(op);
  bool skip = op.failure != nullptr;
  if (op.kind == Submission::Kind::kRun && cancelling_.load(std::memory_order_relaxed)) {
    op.cancelled = skip = true;
  }
  RunContext context{op.device, op.lane, op.sequence, this};
  const bool is_async = op.is(Operation::kAsync);
  if (is_async && !skip) {
    call_async(op, context);
    return;
  }
  if (is_async) op.extras->parts.store(1, std::memory_order_relaxed);
  if (skip && tracing()) op.extras->started_at = 0;
  try {
    if (!skip && op.task) op.task(context);
  } catch (...) {
    op.thrown = std::current_exception();
  }
  try {
    op.task.reset();
    if (is_async) op.extras->async_task.reset();
  } catch (...) {
    if (op.thrown == nullptr) op.thrown = std::current_exception();
  }
}

void ThreadedEngine::call_async(Operation& op, RunContext& context) {
  std::shared_ptr<OpCompletion> state;
  try {
    state = std::make_shared<OpCompletion>(shared_from_this(), op);
    op.extras->async_task(context, Completion(state));
  } catch (...) {
    op.thrown = std::current_exception();
  }
  try {
    op.extras->async_task.reset();
  } catch (...) {
    if (op.thrown == nullptr) op.thrown = std::current_exception();
  }
  if (op.thrown == nullptr) return;
  switch (state != nullptr ? state->abandon() : AsyncState::Abandoned::kOpen) {
    case AsyncState::Abandoned::kOpen:
      op.extras->parts.fetch_sub(1);
      break;
    case AsyncState::Abandoned::kDropped:
      break;
    case AsyncState::Abandoned::kUsed:
      report(OpError(std::string(op.name()), op.sequence, op.device,
                     std::exchange(op.thrown, nullptr)));
      break;
  }
}

Awaited ThreadedEngine::after_callable(Operation& op, ReadyList& ready, Mailbox* mailbox) {
  if (op.is(Operation::kAsync)) {
    op.phase.store(Operation::Phase::kReturned, std::memory_order_relaxed);
    if (op.extras->parts.fetch_sub(1) == 1) finish(op, ready);
  } else if (op.is(Operation::kOnStream)) {
    if (ledger_.may_end(op)) finish(op, ready);
  } else if (mailbox != nullptr) {
    settle(op);
    return ledger_.post(*mailbox, op, ready);
  } else {
    finish(op, ready);
  }
  return Awaited::kNo;
}

void ThreadedEngine::finish(Operation& op, ReadyList& ready) {
  settle(op);
  ledger_.end(op, ready);
}

void ThreadedEngine::settle(Operation& op) {
  op.phase.store(Operation::Phase::kReturned, std::memory_order_relaxed);
  // Of a stream's operation only now is it final.
  if (op.is(Operation::kOnStream)) op.failure = ledger_.inherited(op);
  op.outcome = Outcome::kCompleted;
  if (op.failure == nullptr && op.cancelled) {
    op.failure = std::make_shared<Failure>(Failure{op.sequence, std::nullopt});
  }
  if (op.failure != nullptr) {
    op.outcome = op.failure->error ? Outcome::kSkipped : Outcome::kCancelled;
    if (op.outcome == Outcome::kCancelled) any_cancelled_.store(true);
  } else if (error_of(op) != nullptr) {
    op.outcome = Outcome::kFailed;
    op.failure = std::make_shared<Failure>(Failure{
        op.sequence, OpError(std::string(op.name()), op.sequence, op.device, error_of(op))});
    errors_.add(op.failure);
  }
  if (tracing()) keep_record(op);
  if (op.thrown != nullptr) op.thrown = nullptr;
  if (op.is(Operation::kAsync)) op.extras->failed = nullptr;
}

void ThreadedEngine::keep_record(const Operation& op) {
  OperationExtras& times = *op.extras;
  const std::int64_t done = now_ns();
  const auto or_done = [done](std::int64_t time) { return time != 0 ? time : done; };
  OpRecord record;
  record.sequence = op.sequence;
  record.name = op.name();
  record.device = op.device;
  record.lane = op.lane;
  record.outcome = op.outcome;
  record.pushed = times.pushed_at;
  record.ready = or_done(times.ready_at);
  record.started = or_done(times.started_at);
  record.issued = times.issued_at != 0 ? times.issued_at : record.started;
  record.done = done;
  times.ready_at = times.issued_at = times.started_at = 0;
  trace_.add(std::move(record));
}

void ThreadedEngine::wait(Waiter& waiter, bool for_var) {
  const Waiter::State state = waiter.wait([this] { collect(); });
  ledger_.end_wait(for_var);
  if (state == Waiter::State::kStopped) {
    throw EngineStopped("the engine was shut down before what was waited for had ended");
  }
}

void ThreadedEngine::wait_for_var(VarState* var, bool reads_too) {
  Waiter waiter;
  const bool waits = [&] {
    Ready ready(*this);
    return ledger_.begin_wait(var, reads_too, waiter, ready.list);
  }();
  if (waits) wait(waiter, /*for_var=*/true);
  if (waiter.poison == nullptr) return;
  errors_.mark_reported(*waiter.poison);
  raise(*waiter.poison);
}

void ThreadedEngine::wait_for_all() {
  Waiter waiter;
  const bool waits = [&] {
    Ready ready(*this);
    return ledger_.begin_wait_for_all(waiter, ready.list);
  }();
  if (waits) wait(waiter, /*for_var=*/false);
  errors_.raise_all();
  if (any_cancelled_.load()) {
    throw EngineStopped("operations were cancelled: the engine was shut down");
  }
}

std::uint64_t ThreadedEngine::version(VarState* var) const {
  Ready ready(*this);
  return ledger_.version(var, ready.list);
}

std::string ThreadedEngine::describe_writer(VarState* var) const {
  Ready ready(*this);
  return ledger_.describe_writer(var, ready.list);
}

std::size_t ThreadedEngine::pending() {
  Ready ready(*this);
  return ledger_.pending(ready.list);
}

Watchdog::Progress ThreadedEngine::progress() {
  Ready ready(*this);
  const ShutdownReport ended = ledger_.ended(ready.list);
  ledger_.visit_pending([this](const Operation& op) { stall_report_.look(op); });
  stall_report_.end_look();
  return {ended.completed + ended.failed + ended.cancelled, ended.abandoned};
}

std::string ThreadedEngine::describe_pending() {
  ledger_.visit_pending([this](const Operation& op) { stall_report_.add(op); });
  return stall_report_.text();
}

void ThreadedEngine::report(OpError error) {
  const std::uint64_t sequence = error.sequence();
  errors_.add(std::make_shared<Failure>(Failure{sequence, std::move(error)}));
}

ShutdownReport ThreadedEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  if (mode == ShutdownMode::kCancel) cancelling_.store(true);
  ledger_.limit().stop();
  if (!ledger_.limit().wait_until_empty(deadline_in(deadline), [this] { return pending(); })) {
    abandoned_.store(true);
    ledger_.stop_waiters();
  }
  Ready ready(*this);
  return ledger_.ended(ready.list);
}

bool ThreadedEngine::close() {
  if (abandoned_.load() && pending() != 0) return false;
  ledger_.limit().wait_until_empty(Clock::time_point::max(), [this] { return pending(); });
  watchdog_.stop();
  router_.stop();
  return true;
}

void ThreadedEngine::finish_at_exit(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  if (!ledger_.limit().wait_until_empty(deadline, [this] { return pending(); })) {
    halted_.store(true);
  }
}

}  // namespace heddle::detail
