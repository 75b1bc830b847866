#include "engine/naive_engine.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/stop.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {

/// How often shutdown() looks whether the operation that runs has ended.
constexpr std::chrono::milliseconds kLookAgain{1};

}  // namespace

/// Lets the pushing thread wait for a completion.
struct NaiveEngine::Completed final : AsyncState {
  using AsyncState::AsyncState;

  /// Says on standard error, once, that it has waited for `limit`; 0: never.
  std::exception_ptr wait(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    const auto is_ended = [this] { return is_ended_; };
    if (limit.count() != 0 && !ended_.wait_for(lock, limit, is_ended)) {
      lock.unlock();
      report_stall(limit);
      lock.lock();
    }
    ended_.wait(lock, is_ended);
    // Moved: the completing thread, which may let go of this object last, must not destroy an
    // exception that others read.
    return std::move(error_);
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

  void report_stall(std::chrono::milliseconds waited) const {
    std::ostringstream text;
    text << "heddle: push_async has waited " << std::chrono::duration<double>(waited).count()
         << " s for the Completion of #" << sequence << " '" << name << "' on " << device.str()
         << "; kNaive runs an operation inside the push, so another thread must complete it\n";
    std::fputs(text.str().c_str(), stderr);
  }

  base::Mutex mutex_;
  base::ConditionVariable ended_;
  bool is_ended_ = false;
  std::exception_ptr error_;
};

bool NaiveEngine::inside() const { return OperationScope::of(*this) != nullptr; }

std::unique_lock<base::Mutex> NaiveEngine::take_turn() const {
  return inside() ? std::unique_lock(turn_, std::defer_lock) : std::unique_lock(turn_);
}

void NaiveEngine::check_goes_on(std::string_view call) const {
  if (stopped_.load() && !inside()) throw_stopped(call);
}

bool NaiveEngine::try_admit() {
  check_goes_on("Engine::try_push");
  return true;
}

std::uint64_t NaiveEngine::submit(Submission& submission) {
  std::vector<FailurePtr> dropped;  // outlives the turn
  const std::unique_lock turn = take_turn();
  if (submission.admission != Submission::Admission::kForced) check_goes_on(submission.call());
  PlainOperation operation = adopt(submission);
  const std::uint64_t sequence = operation.sequence;
  if (turn.owns_lock()) {
    run(std::move(operation));
    run_deferred();
    dropped = take_dropped();
  } else {
    deferred_.push_back(std::move(operation));
  }
  return sequence;
}

Route NaiveEngine::inspect(const Submission& submission) {
  const std::unique_lock turn = take_turn();
  check(submission);
  return {};
}

std::uint64_t NaiveEngine::submit_block(ProgramRun& run) {
  std::vector<FailurePtr> dropped;  // outlives the turn
  const std::unique_lock turn = take_turn();
  check_goes_on("Recording::run");
  std::vector<PlainOperation> operations = adopt_block(run);
  const std::uint64_t first = operations.front().sequence;
  // All are pushed before the first runs: what that pushes has its place behind them.
  const std::size_t before = deferred_.size();
  try {
    for (PlainOperation& operation : operations) deferred_.push_back(std::move(operation));
  } catch (...) {
    while (deferred_.size() != before) deferred_.pop_back();
    disown_from(first);
    throw;
  }
  if (turn.owns_lock()) {
    run_deferred();
    dropped = take_dropped();
  }
  return first;
}

void NaiveEngine::run(PlainOperation operation) {
  if (tracing()) operation.ready_at = operation.started_at = now_ns();
  const FailurePtr skipped = skip_reason(operation);
  const std::exception_ptr error = call_and_wait(operation, /*skip=*/skipped != nullptr);
  conclude(operation, skipped, error);
}

std::exception_ptr NaiveEngine::call_and_wait(PlainOperation& operation, bool skip) {
  std::shared_ptr<Completed> completion;
  if (operation.async_task && !skip) {
    completion = std::make_shared<Completed>(shared_from_this(), operation.name, operation.sequence,
                                             operation.options.device);
    completion->cancel = operation.options.cancel;
  }
  running_ = &operation;
  const Called called = call(operation, skip, completion);
  running_ = nullptr;
  if (completion == nullptr || called.error != nullptr) return called.error;
  if (!completion->ended_already()) run_independent(operation);
  return completion->wait(watchdog_);
}

void NaiveEngine::run_deferred() {
  while (!deferred_.empty()) {
    PlainOperation next = std::move(deferred_.front());
    deferred_.pop_front();
    run(std::move(next));
  }
}

void NaiveEngine::run_independent(const PlainOperation& pending) {
  const std::size_t mark = ahead_.size();
  ahead_.push_back(&pending);
  std::deque<PlainOperation> held;
  while (!deferred_.empty()) {
    PlainOperation next = std::move(deferred_.front());
    deferred_.pop_front();
    const auto holds_back = [&next](const PlainOperation* other) { return conflict(*other, next); };
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

bool NaiveEngine::conflict(const PlainOperation& a, const PlainOperation& b) {
  const auto meet = [](const std::vector<Var>& x, const std::vector<Var>& y) {
    return std::find_first_of(x.begin(), x.end(), y.begin(), y.end()) != x.end();
  };
  return meet(a.mutates, b.mutates) || meet(a.mutates, b.reads) || meet(a.reads, b.mutates);
}

void NaiveEngine::wait_for_var(VarState* var, bool reads_too) {
  FailurePtr poison;
  {
    const std::unique_lock turn = take_turn();
    check_usable(var, id(), wait_call(reads_too));
    trace_wait(var, reads_too);
    poison = var->poison;
  }
  raise_poison(poison, reads_too);
}

void NaiveEngine::wait_for_all() {
  bool shutdown_cancelled = false;
  {
    const std::unique_lock turn = take_turn();
    trace_wait(nullptr, /*reads_too=*/true);
    shutdown_cancelled = shutdown_cancelled_;
  }
  raise_all(shutdown_cancelled);
}

std::uint64_t NaiveEngine::version(VarState* var) const {
  const std::unique_lock turn = take_turn();
  check_usable(var, id(), "Engine::version");
  return var->version;
}

std::string NaiveEngine::describe_writer(VarState* var) const {
  const std::unique_lock turn = take_turn();
  check_usable(var, id(), "Engine::wait_for_var");
  const PlainOperation* last = nullptr;
  const auto look = [&](const PlainOperation& pending) {
    const auto is_var = [&](const Var& mutated) { return VarRef(mutated).state() == var; };
    if (last != nullptr && last->sequence > pending.sequence) return;
    if (std::any_of(pending.mutates.begin(), pending.mutates.end(), is_var)) last = &pending;
  };
  if (running_ != nullptr) look(*running_);
  for (const PlainOperation* const pending : ahead_) look(*pending);
  for (const PlainOperation& pending : deferred_) look(pending);
  return last != nullptr ? writer_text(*var, last->name, last->sequence) : writer_text(*var);
}

ShutdownReport NaiveEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  stopped_.store(true);
  if (mode == ShutdownMode::kCancel) cancelling_.store(true);
  const base::Clock::time_point end = deadline_in(deadline);
  std::unique_lock turn(turn_, std::try_to_lock);
  while (!turn.owns_lock() && base::Clock::now() < end) {
    base::sleep_for(kLookAgain);
    static_cast<void>(turn.try_lock());
  }
  if (turn.owns_lock()) return ended_;
  ShutdownReport report;
  report.abandoned = 1;  // whatever its thread runs now; the rest cannot be counted from here
  return report;
}

}  // namespace heddle::detail
