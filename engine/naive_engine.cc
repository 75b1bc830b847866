#include "engine/naive_engine.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <sstream>
#include <utility>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/recorded_program.h"
#include "engine/stall_report.h"
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

  void report_stall(std::chrono::milliseconds waited) const noexcept try {
    std::ostringstream text;
    text << "heddle: push_async has waited " << std::chrono::duration<double>(waited).count()
         << " s for the Completion of ";
    write_name(text, sequence, name);
    text << " on " << device.str()
         << "; kNaive runs an operation inside the push, so another thread must complete it\n";
    std::fputs(text.str().c_str(), stderr);
  } catch (const std::bad_alloc&) {
    // It is only said.
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

void NaiveEngine::defer(const Submission& submission) {
  deferred_.push_back(describe(submission));
  take(deferred_.back(), submission);
}

std::uint64_t NaiveEngine::submit(Submission& submission) {
  Ended ended;  // outlives the turn
  const std::unique_lock turn = take_turn();
  if (submission.admission != Submission::Admission::kForced) check_goes_on(submission.call());
  check(submission);
  defer(submission);
  const std::uint64_t sequence = last_sequence();
  if (turn.owns_lock()) run_deferred(ended);
  return sequence;
}

Route NaiveEngine::inspect(const Submission& submission) {
  const std::unique_lock turn = take_turn();
  check(submission);
  return {};
}

std::uint64_t NaiveEngine::submit_block(ProgramRun& run) {
  Ended ended;  // outlives the turn
  const std::unique_lock turn = take_turn();
  check_goes_on("Recording::run");
  check(run);
  // All are pushed before the first runs: what that pushes has its place behind them.
  const std::uint64_t last = last_sequence();
  const std::size_t before = deferred_.size();
  try {
    for (std::size_t i = 0; i < run.size(); ++i) {
      run.submit(i, [this](const Submission& submission) { defer(submission); });
    }
  } catch (...) {
    while (deferred_.size() != before) deferred_.pop_back();
    forget_after(last);
    throw;
  }
  if (turn.owns_lock()) run_deferred(ended);
  return last + 1;
}

void NaiveEngine::run_deferred(Ended& ended) noexcept {
  while (!deferred_.empty()) run_next();
  ended.operations.swap(ended_operations_);
  take_dropped(ended.dropped);
}

void NaiveEngine::run_next() noexcept {
  Operations one;
  one.splice(one.begin(), deferred_, deferred_.begin());
  PlainOperation& operation = one.front();
  if (tracing()) operation.ready_at = operation.started_at = now_ns();
  const FailurePtr skipped = skip_reason(operation);
  operation.error = call_and_wait(operation, /*skip=*/skipped != nullptr);
  const Outcome outcome = conclude(operation, skipped, operation.error);
  if (outcome != Outcome::kCompleted) ended_operations_.splice(ended_operations_.end(), one);
}

std::exception_ptr NaiveEngine::call_and_wait(PlainOperation& operation, bool skip) noexcept {
  std::shared_ptr<Completed> completion;
  std::exception_ptr without_memory;
  if (operation.async_task && !skip) {
    try {
      completion = std::make_shared<Completed>(shared_from_this(), operation.name,
                                               operation.sequence, operation.options.device);
      completion->cancel = operation.options.cancel;
    } catch (const std::bad_alloc&) {
      without_memory = std::current_exception();
    }
  }
  running_ = &operation;
  Called called = call(operation, skip || without_memory != nullptr, completion);
  running_ = nullptr;
  if (without_memory != nullptr && called.error == nullptr) return without_memory;
  if (completion == nullptr || called.error != nullptr) return std::move(called.error);
  if (!completion->ended_already()) run_independent(operation);
  return completion->wait(watchdog_);
}

void NaiveEngine::run_independent(const PlainOperation& pending) noexcept {
  Incomplete incomplete{pending, {}, incomplete_};
  incomplete_ = &incomplete;
  Operations& held_back = incomplete.held_back;
  while (!deferred_.empty()) {
    if (is_held_back(deferred_.front())) {
      held_back.splice(held_back.end(), deferred_, deferred_.begin());
    } else {
      run_next();
    }
  }
  incomplete_ = incomplete.outer;
  deferred_.swap(held_back);
}

bool NaiveEngine::is_held_back(const PlainOperation& operation) const {
  const auto holds_back = [&](const PlainOperation& other) { return conflict(other, operation); };
  for (const Incomplete* each = incomplete_; each != nullptr; each = each->outer) {
    if (holds_back(each->operation)) return true;
    if (std::any_of(each->held_back.begin(), each->held_back.end(), holds_back)) return true;
  }
  return false;
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
  for (const Incomplete* each = incomplete_; each != nullptr; each = each->outer) {
    look(each->operation);
    for (const PlainOperation& pending : each->held_back) look(pending);
  }
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
