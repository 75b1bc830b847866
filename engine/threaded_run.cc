// How a ThreadedEngine runs an operation, and how the operation ends.

#include <new>
#include <utility>
#include <vector>

#include <unistd.h>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

/// For the process is about to end, and this thread must not start anything any more.
[[noreturn]] void sleep_for_ever() {
  while (true) pause();
}

/// `before` comes first, and `then` follows a call that returns.
template <class Before, class Then>
void call(Operation& op, RunContext& context, Before&& before, Then&& then) {
  try {
    before();
    if (op.task) op.task(context);
    then();
  } catch (...) {
    op.keep_thrown(std::current_exception());
  }
}

inline void destroy_callable(Operation& op) {
  try {
    op.task.reset();
    if (op.is(Operation::kAsync)) op.extras->async_task.reset();
  } catch (...) {
    op.keep_thrown(std::current_exception());
  }
}

std::vector<AccessCheck::Declared> declared_by(const Operation& op) {
  std::vector<AccessCheck::Declared> declared;
  // Both are fixed by the push; the ledger's lock guards the rest.
  op.for_each_access([&](const Access& access) {
    declared.push_back({&access.var(), access.is_write()});
  });
  return declared;
}

/// Why an operation was cancelled, or null.
FailurePtr cancellation(const Operation& op) {
  if (op.has(Operation::kGroupCancelled)) return cancelled_by_group(op.sequence, op.name());
  if (!op.has(Operation::kCancelled)) return nullptr;
  return cancelled_by_shutdown(op.sequence, op.name());
}

}  // namespace

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

void ThreadedEngine::halt_if_asked() const {
  if (is_on(kHalted)) sleep_for_ever();
}

inline void ThreadedEngine::settle(Operation& op) noexcept {
  op.phase.store(Operation::Phase::kReturned, std::memory_order_relaxed);
  op.outcome = Outcome::kCompleted;
  if (!op.is_plain()) settle_unusual(op);
  if (tracing()) keep_record(op);
}

/// Where there is nothing else to do about `op`.
inline void ThreadedEngine::execute_plain(Operation& op) {
  OperationScope scope(this, op.name(), op.sequence, op.device, op.lane(), op.generation);
  op.phase.store(Operation::Phase::kRunning, std::memory_order_relaxed);
  RunContext context{op.device, op.lane(), op.sequence, this};
  call(
      op, context, [] {}, [] {});
  destroy_callable(op);
}

void ThreadedEngine::execute(Operation& op) {
  if (is_plain(op)) return execute_plain(op);
  OperationScope scope(this, op.name(), op.sequence, op.device, op.lane(), op.generation);
  op.phase.store(Operation::Phase::kRunning, std::memory_order_relaxed);
  RunContext context{op.device, op.lane(), op.sequence, this};
  execute_unusual(op, context, scope);
}

bool ThreadedEngine::run(Operation& op, ReadyList& ready) {
  if (!is_plain(op)) {
    execute(op);
    return after_callable(op, ready);
  }
  execute_plain(op);
  settle(op);
  return true;
}

FailurePtr ThreadedEngine::run(Arrival& arrival) noexcept {
  const Lane lane = Operation::lane_of(arrival.flags);
  OperationScope scope(this, {}, arrival.sequence, arrival.device, lane, arrival.generation);
  RunContext context{arrival.device, lane, arrival.sequence, this};
  FailurePtr failure;
  const auto keep_first = [&] {
    if (failure != nullptr) return;
    failure = failed(arrival.sequence, {}, arrival.device, std::current_exception());
  };
  try {
    arrival.task(context);
  } catch (...) {
    keep_first();
  }
  if (arrival.task.is_trivially_destructible()) return failure;  // its line stays with who pushes
  try {
    arrival.task.reset();
  } catch (...) {
    keep_first();
  }
  return failure;
}

void ThreadedEngine::settle_last(Operation& op, FailurePtr failure) noexcept {
  if (failure != nullptr) {
    op.failure = std::move(failure);
    op.set(Operation::kThrew);
  }
  settle(op);
}

void ThreadedEngine::execute_unusual(Operation& op, RunContext& context, OperationScope& scope) {
  // What runs inline may be run by the thread that ends the process, and so may an early free.
  if (!op.is(Operation::kNoQueue) && !op.is(Operation::kFreesEarly)) halt_if_asked();
  if (tracing()) op.extras->started_at = now_ns();
  const bool skip = must_skip(op, context);
  if (skip && tracing()) op.extras->started_at = 0;
  const bool is_async = op.is(Operation::kAsync);
  if (is_async && !skip) {
    call_async(op, context, scope);
    return;
  }
  if (!skip) {
    const auto begin_check = [&] {
      if (is_on(kChecking)) scope.begin_check(declared_by(op));
    };
    call(op, context, begin_check, [&scope] { scope.end_check(); });
    scope.drop_check();
  } else if (is_async) {
    op.extras->parts.store(1, std::memory_order_relaxed);
  }
  destroy_callable(op);
}

bool ThreadedEngine::must_skip(Operation& op, RunContext& context) {
  // A stream may run it while what it waits for on the device is still to come.
  if (op.is(Operation::kOnStream)) ledger_.drop(op.meet(ledger_.inherited(op)));
  if (op.kind() == Submission::Kind::kRun && is_on(kCancelling)) op.set(Operation::kCancelled);
  if (op.is(Operation::kCancellable)) {
    context.group = op.extras->cancel.state();
    if (op.extras->cancel.cancelled()) op.set(Operation::kGroupCancelled);
  }
  return op.marks != 0;
}

void ThreadedEngine::call_async(Operation& op, RunContext& context, OperationScope& scope) {
  std::shared_ptr<OpCompletion> state;
  try {
    if (is_on(kChecking)) scope.begin_check(declared_by(op));
    state = std::make_shared<OpCompletion>(shared_from_this(), op);
    if (op.is(Operation::kCancellable)) state->cancel = op.extras->cancel;
    op.extras->async_task(context, Completion(state));
    scope.end_check();
  } catch (...) {
    op.keep_thrown(std::current_exception());
  }
  scope.drop_check();
  destroy_callable(op);
  if (!op.has(Operation::kThrew)) return;
  switch (state != nullptr ? state->abandon() : AsyncState::Abandoned::kOpen) {
    case AsyncState::Abandoned::kOpen:
      op.extras->parts.fetch_sub(1);
      break;
    case AsyncState::Abandoned::kDropped:
      break;
    case AsyncState::Abandoned::kUsed:
      report(std::exchange(op.failure, nullptr));
      op.clear(Operation::kThrew);
      break;
  }
}

bool ThreadedEngine::after_callable(Operation& op, ReadyList& ready) {
  if (op.is(Operation::kAsync)) {
    op.phase.store(Operation::Phase::kReturned, std::memory_order_relaxed);
    if (op.extras->parts.fetch_sub(1) == 1) finish(op, ready);
    return false;
  }
  settle(op);
  if (!op.is(Operation::kOnStream)) return true;
  ledger_.end_on_stream(op, ready);
  return false;
}

void ThreadedEngine::finish(Operation& op, ReadyList& ready) {
  settle(op);
  ledger_.end(op, ready);
}

void ThreadedEngine::settle_unusual(Operation& op) noexcept {
  // Of a stream's operation only now is it final.
  if (op.is(Operation::kOnStream)) ledger_.drop(op.meet(ledger_.inherited(op)));
  // What was thrown goes before what the Completion failed with.
  if (op.is(Operation::kAsync)) {
    if (auto error = std::exchange(op.extras->failed, nullptr)) op.keep_thrown(std::move(error));
  }
  if (op.is(Operation::kCancellable)) op.extras->cancel = {};
  if (!op.has(Operation::kPoisoned)) ledger_.drop(op.meet(cancellation(op)));
  if (op.has(Operation::kPoisoned)) {
    op.outcome = op.failure->error ? Outcome::kSkipped : Outcome::kCancelled;
    if (op.failure->is_from_shutdown()) modes_.fetch_or(kHasCancelled);
  } else if (op.failure != nullptr) {
    op.outcome = Outcome::kFailed;
    errors_.add(op.failure);
  }
}

void ThreadedEngine::keep_record(const Operation& op) noexcept try {
  OperationExtras& times = *op.extras;
  const std::int64_t done = now_ns();
  const auto or_done = [done](std::int64_t time) { return time != 0 ? time : done; };
  OpRecord record;
  record.sequence = op.sequence;
  record.device = op.device;
  record.lane = op.lane();
  record.outcome = op.outcome;
  record.pushed = times.pushed_at;
  record.ready = or_done(times.ready_at);
  record.started = or_done(times.started_at);
  record.issued = times.issued_at != 0 ? times.issued_at : record.started;
  record.done = done;
  times.ready_at = times.issued_at = times.started_at = 0;
  record.name = op.name();
  ModelOp modelled{.sequence = op.sequence,
                   .device = op.device,
                   .lane = op.lane(),
                   .cost = times.cost,
                   .accesses = {}};
  op.for_each_access([&](const Access& access) {
    modelled.accesses.push_back({access.var().trace_id, access.is_write()});
  });
  trace_.add(std::move(record), std::move(modelled));
} catch (const std::bad_alloc&) {
}

}  // namespace heddle::detail
