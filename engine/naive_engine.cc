#include "engine/naive_engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {

/// How often shutdown() looks whether the operation that runs has ended.
constexpr std::chrono::milliseconds kLookAgain{1};

}  // namespace

/// Lets the pushing thread wait for a completion.
struct NaiveEngine::Completed final : AsyncState {
  using AsyncState::AsyncState;

  std::exception_ptr wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return is_ended_; });
    return error_;
  }
  bool ended_already() {
    const std::lock_guard lock(mutex_);
    return is_ended_;
  }

 private:
  void complete(std::exception_ptr outcome) override {
    const std::lock_guard lock(mutex_);
    error_ = std::move(outcome);
    is_ended_ = true;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ended_ = false;
  std::exception_ptr error_;
};

NaiveEngine::NaiveEngine(const EngineOptions& options)
    : EngineCore(options), trace_(options.trace) {}

bool NaiveEngine::inside() const { return OperationScope::of(*this) != nullptr; }

std::unique_lock<std::mutex> NaiveEngine::take_turn() const {
  return inside() ? std::unique_lock(turn_, std::defer_lock) : std::unique_lock(turn_);
}

bool NaiveEngine::try_admit() {
  if (stopped_.load() && !inside()) throw EngineStopped("the engine was shut down");
  return true;
}

NaiveEngine::Operation NaiveEngine::adopt(const Submission& submission) {
  const std::string_view call =
      submission.kind == Submission::Kind::kRun ? "Engine::push" : submission.options->name;
  for (const VarList& list : {submission.reads, submission.mutates}) {
    for (std::size_t i = 0; i < list.size(); ++i) check_usable(list[i], id(), call);
  }
  Operation operation{
      submission.kind,
      submission.task != nullptr ? std::move(*submission.task) : Task(),
      submission.async_task != nullptr ? std::move(*submission.async_task) : AsyncTask(),
      {},
      {},
      *submission.options,
      std::string(submission.options->name),
      0};
  for (std::size_t i = 0; i < submission.mutates.size(); ++i) {
    const Var var = handle(submission.mutates[i]);
    if (std::find(operation.mutates.begin(), operation.mutates.end(), var) ==
        operation.mutates.end()) {
      operation.mutates.push_back(var);
    }
  }
  for (std::size_t i = 0; i < submission.reads.size(); ++i) {
    const Var var = handle(submission.reads[i]);
    if (std::find(operation.mutates.begin(), operation.mutates.end(), var) ==
        operation.mutates.end()) {
      operation.reads.push_back(var);
    }
  }
  operation.sequence = ++last_sequence_;
  if (operation.kind == Submission::Kind::kDelete) submission.mutates[0]->deleted = true;
  return operation;
}

std::uint64_t NaiveEngine::submit(Submission&& submission) {
  if (submission.admission == Submission::Admission::kBlock) try_admit();
  const std::unique_lock turn = take_turn();
  Operation operation = adopt(submission);
  const std::uint64_t sequence = operation.sequence;
  if (turn.owns_lock()) {
    run(std::move(operation));
    run_deferred();
  } else {
    deferred_.push_back(std::move(operation));
  }
  return sequence;
}

FailurePtr NaiveEngine::inherited(const Operation& operation) const {
  FailurePtr first;
  if (operation.kind != Submission::Kind::kRun) return first;
  for (const Var& var : operation.reads) first = earlier(first, VarRef(var).state()->poison);
  if (operation.options.overwrites) return first;
  for (const Var& var : operation.mutates) first = earlier(first, VarRef(var).state()->poison);
  return first;
}

void NaiveEngine::run(Operation operation) {
  OpRecord record{operation.sequence, operation.name, operation.options.device,
                  operation.options.lane, Outcome::kCompleted};
  record.pushed = record.ready = record.issued = record.started = now_ns();
  FailurePtr failure = inherited(operation);
  if (failure == nullptr && cancelling_.load() && operation.kind == Submission::Kind::kRun) {
    failure = std::make_shared<Failure>(Failure{operation.sequence, std::nullopt});
  }
  if (failure != nullptr) {
    record.outcome = failure->error ? Outcome::kSkipped : Outcome::kCancelled;
  }
  const std::exception_ptr error = call(operation, /*skip=*/failure != nullptr);
  if (failure == nullptr && error != nullptr) {
    failure = std::make_shared<Failure>(
        Failure{operation.sequence,
                OpError(operation.name, operation.sequence, operation.options.device, error)});
    errors_.add(failure);
    record.outcome = Outcome::kFailed;
  }
  end(operation, failure);
  switch (record.outcome) {
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
  record.done = now_ns();
  if (trace_.enabled()) trace_.add(std::move(record));
}

std::exception_ptr NaiveEngine::call(Operation& operation, bool skip) {
  const OperationScope scope(this, operation.name, operation.sequence, operation.options.device,
                             operation.options.lane, /*generation=*/0);
  RunContext context{operation.options.device, operation.options.lane, operation.sequence, this};
  if (operation.async_task && !skip) return call_async(operation, context);
  std::exception_ptr error;
  try {
    if (operation.task && !skip) operation.task(context);
  } catch (...) {
    error = std::current_exception();
  }
  try {
    operation.task.reset();
    operation.async_task.reset();
  } catch (...) {
    if (error == nullptr) error = std::current_exception();
  }
  return error;
}

std::exception_ptr NaiveEngine::call_async(Operation& operation, RunContext& context) {
  const auto state = std::make_shared<Completed>(shared_from_this(), operation.name,
                                                 operation.sequence, operation.options.device);
  std::exception_ptr thrown;
  try {
    operation.async_task(context, Completion(state));
  } catch (...) {
    thrown = std::current_exception();
  }
  try {
    operation.async_task.reset();
  } catch (...) {
    if (thrown == nullptr) thrown = std::current_exception();
  }
  if (thrown != nullptr) {
    if (state->abandon() != AsyncState::Abandoned::kUsed) return thrown;
    report(OpError(operation.name, operation.sequence, operation.options.device, thrown));
  }
  if (!state->ended_already()) run_independent(operation);
  return state->wait();
}

void NaiveEngine::run_deferred() {
  while (!deferred_.empty()) {
    Operation next = std::move(deferred_.front());
    deferred_.pop_front();
    run(std::move(next));
  }
}

void NaiveEngine::run_independent(const Operation& pending) {
  const std::size_t mark = ahead_.size();
  ahead_.push_back(&pending);
  std::deque<Operation> held;
  while (!deferred_.empty()) {
    Operation next = std::move(deferred_.front());
    deferred_.pop_front();
    const auto holds_back = [&next](const Operation* other) { return conflict(*other, next); };
    if (std::any_of(ahead_.begin(), ahead_.end(), holds_back)) {
      held.push_back(std::move(next));
      ahead_.push_back(&held.back());
    } else {
      run(std::move(next));
    }
  }
  ahead_.resize(mark);
  deferred_ = std::move(held);
}

bool NaiveEngine::conflict(const Operation& a, const Operation& b) {
  const auto meet = [](const std::vector<Var>& x, const std::vector<Var>& y) {
    return std::find_first_of(x.begin(), x.end(), y.begin(), y.end()) != x.end();
  };
  return meet(a.mutates, b.mutates) || meet(a.mutates, b.reads) || meet(a.reads, b.mutates);
}

void NaiveEngine::end(const Operation& operation, const FailurePtr& failure) {
  for (const Var& var : operation.mutates) {
    VarState& variable = *VarRef(var).state();
    variable.poison = failure;
    if (operation.kind != Submission::Kind::kClear) ++variable.version;
  }
}

void NaiveEngine::wait_for_var(VarState* var, bool) {
  FailurePtr poison;
  {
    const std::unique_lock turn = take_turn();
    check_usable(var, id(), "Engine::wait_for_var");
    poison = var->poison;
  }
  if (poison == nullptr) return;
  errors_.mark_reported(*poison);
  raise(*poison);
}

void NaiveEngine::wait_for_all() {
  bool any_cancelled = false;
  {
    const std::unique_lock turn = take_turn();
    any_cancelled = ended_.cancelled != 0;
  }
  errors_.raise_all();
  if (any_cancelled) throw EngineStopped("operations were cancelled: the engine was shut down");
}

std::uint64_t NaiveEngine::version(VarState* var) const {
  const std::unique_lock turn = take_turn();
  check_usable(var, id(), "Engine::version");
  return var->version;
}

std::string NaiveEngine::describe_writer(VarState* var) const {
  const std::unique_lock turn = take_turn();
  check_usable(var, id(), "Engine::wait_for_var");
  return "variable '" + var->name + "', which has no pending writer";
}

ShutdownReport NaiveEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  stopped_.store(true);
  if (mode == ShutdownMode::kCancel) cancelling_.store(true);
  std::unique_lock turn(turn_, std::try_to_lock);
  for (auto left = deadline; !turn.owns_lock() && left > kLookAgain; left -= kLookAgain) {
    std::this_thread::sleep_for(kLookAgain);
    static_cast<void>(turn.try_lock());
  }
  if (turn.owns_lock()) return ended_;
  ShutdownReport report;
  report.abandoned = 1;  // whatever its thread runs now; the rest cannot be counted from here
  return report;
}

void NaiveEngine::report(OpError error) {
  const std::uint64_t sequence = error.sequence();
  errors_.add(std::make_shared<Failure>(Failure{sequence, std::move(error)}));
}

}  // namespace heddle::detail
