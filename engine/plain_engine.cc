#include "engine/plain_engine.h"

#include <algorithm>
#include <utility>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/recorded_program.h"
#include "engine/stop.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {

bool contains(const std::vector<Var>& list, const Var& var) {
  return std::find(list.begin(), list.end(), var) != list.end();
}

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

PlainOperation PlainEngine::adopt(const Submission& submission) {
  check(submission);
  PlainOperation operation;
  for (std::size_t i = 0; i < submission.mutates.size(); ++i) {
    Var var = handle(submission.mutates[i]);
    if (!contains(operation.mutates, var)) operation.mutates.push_back(std::move(var));
  }
  for (std::size_t i = 0; i < submission.reads.size(); ++i) {
    Var var = handle(submission.reads[i]);
    if (contains(operation.mutates, var) || contains(operation.reads, var)) continue;
    operation.reads.push_back(std::move(var));
  }
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
  if (submission.task != nullptr) operation.task = std::move(*submission.task);
  if (submission.async_task != nullptr) operation.async_task = std::move(*submission.async_task);
  operation.sequence = ++last_sequence_;
  if (operation.kind == Submission::Kind::kDelete) submission.mutates[0]->deleted = true;
  return operation;
}

std::vector<PlainOperation> PlainEngine::adopt_block(ProgramRun& run) {
  for (const VarState* const var : run.variables()) check_usable(var, id(), "Recording::run");
  const std::uint64_t before = last_sequence_;
  try {
    std::vector<PlainOperation> operations;
    operations.reserve(run.size());
    for (std::size_t i = 0; i < run.size(); ++i) {
      operations.push_back(
          run.submit(i, [this](const Submission& submission) { return adopt(submission); }));
    }
    return operations;
  } catch (...) {
    last_sequence_ = before;
    throw;
  }
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

void PlainEngine::conclude(const PlainOperation& operation, FailurePtr skipped,
                           const std::exception_ptr& error) {
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
  for (const Var& var : operation.reads) keep_beyond_lock(VarRef(var).state()->poison);
  for (const Var& var : operation.mutates) {
    VarState& variable = *VarRef(var).state();
    keep_beyond_lock(variable.carry(poison));
    if (operation.kind != Submission::Kind::kClear) ++variable.version;
  }
  keep_beyond_lock(std::move(poison));
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
}

void PlainEngine::keep_record(const PlainOperation& operation, Outcome outcome) {
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
