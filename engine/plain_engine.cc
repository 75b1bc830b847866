#include "engine/plain_engine.h"

#include <new>
#include <utility>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/recorded_program.h"
#include "engine/stop.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {

std::vector<AccessCheck::Declared> declared_by(const PlainOperation& operation) {
  std::vector<AccessCheck::Declared> declared;
  for (const Var& var : operation.reads) declared.push_back({VarRef(var).state(), false});
  for (const Var& var : operation.mutates) declared.push_back({VarRef(var).state(), true});
  return declared;
}

}  // namespace

PlainEngine::PlainEngine(const EngineOptions& options)
    : EngineCore(options), trace_(options.trace) {}

void PlainEngine::check(const Submission& submission) const { check_variables(submission, id()); }

void PlainEngine::check(const ProgramRun& run) const {
  for (const VarState* const var : run.variables()) check_usable(var, id(), "Recording::run");
}

PlainOperation PlainEngine::describe(const Submission& submission) {
  PlainOperation operation;
  const std::uint64_t mark = ++described_;
  const auto add = [mark](const VarList& list, std::vector<Var>& to) {
    to.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (std::exchange(list[i]->last_push, mark) != mark) to.push_back(handle(list[i]));
    }
  };
  add(submission.mutates, operation.mutates);
  add(submission.reads, operation.reads);
  operation.kind = submission.kind;
  operation.name = submission.options->name;
  operation.options = *submission.options;
  operation.options.priority = submission.priority;
  operation.options.name = {};
  operation.options.copies = {};
  if (tracing()) {
    operation.pushed_at = now_ns();
    operation.cost = ModelCost::of(submission, *this);
  }
  return operation;
}

void PlainEngine::take(PlainOperation& described, const Submission& submission) noexcept {
  if (submission.task != nullptr) described.task = std::move(*submission.task);
  if (submission.async_task != nullptr) described.async_task = std::move(*submission.async_task);
  described.sequence = ++last_sequence_;
  if (described.kind == Submission::Kind::kDelete) submission.mutates[0]->deleted = true;
}

FailurePtr PlainEngine::skip_reason(const PlainOperation& operation) const {
  FailurePtr first;
  if (operation.kind != Submission::Kind::kRun) return first;
  for (const Var& var : operation.reads) first = earlier(first, VarRef(var).state()->poison);
  if (!operation.options.overwrites) {
    for (const Var& var : operation.mutates) first = earlier(first, VarRef(var).state()->poison);
  }
  if (first == nullptr && operation.options.cancel.cancelled()) {
    first = cancelled_by_group(operation.sequence, operation.name);
  }
  if (first == nullptr && cancelling_.load()) {
    first = cancelled_by_shutdown(operation.sequence, operation.name);
  }
  return first;
}

PlainEngine::Called PlainEngine::call(PlainOperation& operation, bool skip,
                                      const std::shared_ptr<AsyncState>& completion) {
  OperationScope scope(this, operation.name, operation.sequence, operation.options.device,
                       operation.options.lane, /*generation=*/0);
  operation.context = RunContext{operation.options.device, operation.options.lane,
                                 operation.sequence, this, operation.options.cancel.state()};
  Called called;
  try {
    if (options().access_check) scope.begin_check(declared_by(operation));
    if (!skip && operation.async_task) {
      operation.async_task(operation.context, Completion(completion));
    } else if (!skip && operation.task) {
      operation.task(operation.context);
    }
    scope.end_check();
  } catch (...) {
    called.error = std::current_exception();
  }
  scope.drop_check();
  try {
    operation.task.reset();
    operation.async_task.reset();
  } catch (...) {
    if (called.error == nullptr) called.error = std::current_exception();
  }
  if (completion == nullptr) return called;
  called.awaits_completion = true;
  if (called.error == nullptr) return called;
  switch (completion->abandon()) {
    case AsyncState::Abandoned::kOpen:
      called.awaits_completion = false;
      break;
    case AsyncState::Abandoned::kDropped:
      break;
    case AsyncState::Abandoned::kUsed:
      report(failed(operation.sequence, operation.name, operation.options.device,
                    std::exchange(called.error, nullptr)));
      break;
  }
  return called;
}

Outcome PlainEngine::conclude(const PlainOperation& operation, FailurePtr skipped,
                              const std::exception_ptr& error) noexcept {
  Outcome outcome = Outcome::kCompleted;
  FailurePtr poison = std::move(skipped);
  if (poison != nullptr) {
    outcome = poison->error ? Outcome::kSkipped : Outcome::kCancelled;
    if (poison->is_from_shutdown()) shutdown_cancelled_ = true;
  } else if (error != nullptr) {
    outcome = Outcome::kFailed;
    poison = failed(operation.sequence, operation.name, operation.options.device, error);
    errors_.add(poison);
  }
  for (const Var& var : operation.mutates) {
    VarState& variable = *VarRef(var).state();
    dropped_.add(variable.carry(poison));
    if (operation.kind != Submission::Kind::kClear) ++variable.version;
  }
  dropped_.add(std::move(poison));
  switch (outcome) {
    case Outcome::kCompleted:
      ++ended_.completed;
      break;
    case Outcome::kCancelled:
      ++ended_.cancelled;
      break;
    case Outcome::kFailed:
    case Outcome::kSkipped:
      ++ended_.failed;
      break;
  }
  if (tracing()) keep_record(operation, outcome);
  return outcome;
}

void PlainEngine::keep_record(const PlainOperation& operation, Outcome outcome) noexcept try {
  const std::int64_t done = now_ns();
  const bool ran = outcome == Outcome::kCompleted || outcome == Outcome::kFailed;
  OpRecord record;
  record.sequence = operation.sequence;
  record.name = operation.name;
  record.device = operation.options.device;
  record.lane = operation.options.lane;
  record.outcome = outcome;
  record.pushed = operation.pushed_at;
  record.ready = operation.ready_at;
  record.started = record.issued = ran ? operation.started_at : done;
  record.done = done;
  ModelOp modelled{.sequence = operation.sequence,
                   .device = operation.options.device,
                   .lane = operation.options.lane,
                   .cost = operation.cost,
                   .accesses = {}};
  const auto add = [&modelled](const std::vector<Var>& vars, bool write) {
    for (const Var& var : vars) {
      modelled.accesses.push_back({give_trace_id(*VarRef(var).state()), write});
    }
  };
  add(operation.mutates, true);
  add(operation.reads, false);
  trace_.add(std::move(record), std::move(modelled));
} catch (const std::bad_alloc&) {
}

void PlainEngine::raise_poison(const FailurePtr& poison, bool reads_too) {
  if (poison == nullptr) return;
  errors_.mark_reported(*poison);
  raise(*poison, wait_call(reads_too));
}

void PlainEngine::raise_all(bool shutdown_cancelled) {
  errors_.raise_all();
  if (shutdown_cancelled) throw_cancelled();
}

}  // namespace heddle::detail
