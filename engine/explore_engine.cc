#include "engine/explore_engine.h"

#include <algorithm>
#include <new>
#include <sstream>
#include <string>
#include <utility>

#include "engine/async_state.h"
#include "engine/operation_scope.h"
#include "engine/recorded_program.h"
#include "engine/stall_report.h"
#include "engine/stop.h"
#include "engine/var_state.h"
#include "engine/watchdog.h"

namespace heddle::detail {

/// Ends an asynchronous operation together with its callable: whoever is second.
struct ExploreEngine::OpCompletion final : AsyncState {
  OpCompletion(std::shared_ptr<EngineCore> owner, ExploreOperation& op)
      : AsyncState(std::move(owner), op.pushed.name, op.sequence, op.pushed.options.device),
        operation(op) {}

  void complete(std::exception_ptr error) override {
    auto& owner = static_cast<ExploreEngine&>(*engine);
    Ended ended;  // outlives the lock
    const std::lock_guard lock(owner.mutex_);
    operation.failed = std::move(error);
    operation.completed = true;
    if (operation.callable_ended) owner.end(operation);
    owner.take_ended(ended);
  }

  ExploreOperation& operation;
};

ExploreEngine::ExploreEngine(const EngineOptions& options)
    : PlainEngine(options), schedule_(options) {}

bool ExploreEngine::try_admit() {
  Lock lock(mutex_);
  if (OperationScope::current() == nullptr) {
    if (stopped_) throw_stopped("Engine::try_push");
    if (!has_place()) {
      run_one(lock);
      return false;
    }
  }
  ++places_;
  return true;
}

void ExploreEngine::take_place(Lock& lock, Submission::Admission admission, std::string_view call) {
  using Admission = Submission::Admission;
  if (admission == Admission::kAdmitted) return;
  if (admission == Admission::kBlock && OperationScope::current() == nullptr) {
    if (!stopped_) drive(lock, [&] { return has_place() || stopped_; });
    if (stopped_) throw_stopped(call);
  }
  ++places_;
}

void ExploreEngine::give_place_back() noexcept {
  --places_;
  changed_.notify_all();
}

void ExploreEngine::cancel_admission() {
  const Lock lock(mutex_);
  give_place_back();
}

template <class Fill>
std::uint64_t ExploreEngine::enter(const OperationScope* parent, Fill&& fill) {
  const std::uint64_t generation =
      parent != nullptr ? pending_.at(parent->sequence())->generation : newest_generation_;
  const std::uint64_t last = last_sequence();
  Operations entering;
  try {
    generations_.try_emplace(generation, 0);
    fill(entering);
  } catch (...) {
    for (const auto& [sequence, operation] : entering) schedule_.forget(*operation);
    forget_after(last);
    std::erase_if(generations_, [](const auto& pending) { return pending.second == 0; });
    give_place_back();
    throw;
  }
  generations_[generation] += entering.size();
  places_ += entering.size() - 1;
  for (const auto& [sequence, operation] : entering) {
    operation->generation = generation;
    schedule_.push(*operation);
  }
  pending_.merge(entering);
  changed_.notify_all();
  return last + 1;
}

std::uint64_t ExploreEngine::submit(Submission& submission) {
  const OperationScope* const parent = OperationScope::of(*this);
  Lock lock(mutex_);
  take_place(lock, submission.admission, submission.call());
  return enter(parent, [&](Operations& entering) {
    check(submission);
    prepare(submission, entering);
  });
}

void ExploreEngine::prepare(const Submission& submission, Operations& entering) {
  const auto place =
      entering.emplace_hint(entering.end(), last_sequence() + 1,
                            std::make_unique<ExploreOperation>(describe(submission)));
  ExploreOperation& operation = *place->second;
  const bool has_callable = submission.task != nullptr ? static_cast<bool>(*submission.task)
                                                       : submission.async_task != nullptr;
  schedule_.prepare(operation, has_callable, pending_.size() + entering.size());
  take(operation.pushed, submission);
}

Route ExploreEngine::inspect(const Submission& submission) {
  const Lock lock(mutex_);
  check(submission);
  return {};
}

std::uint64_t ExploreEngine::submit_block(ProgramRun& run) {
  const OperationScope* const parent = OperationScope::of(*this);
  Lock lock(mutex_);
  take_place(lock, Submission::Admission::kBlock, "Recording::run");
  return enter(parent, [&](Operations& entering) {
    check(run);
    for (std::size_t i = 0; i < run.size(); ++i) {
      run.submit(i, [&](const Submission& submission) { prepare(submission, entering); });
    }
  });
}

bool ExploreEngine::drive(Lock& lock, const std::function<bool()>& is_over,
                          Clock::time_point deadline) {
  const bool is_limited = deadline != Clock::time_point::max();
  while (!is_over()) {
    if (is_limited && Clock::now() >= deadline) return false;
    if (!run_one(lock)) sleep(lock, deadline);
  }
  return true;
}

void ExploreEngine::sleep(Lock& lock, Clock::time_point deadline) {
  constexpr auto kForEver = Clock::time_point::max();
  const std::chrono::milliseconds limit = options().watchdog;
  const Clock::time_point now = Clock::now();
  const std::uint64_t ended = ended_.completed + ended_.failed + ended_.cancelled;
  if (pending_.empty() || stall_.since == Clock::time_point() || stall_.ended != ended) {
    stall_ = {ended, now};
  }
  const bool is_watched = limit.count() != 0 && !stall_.is_reported;
  const Clock::time_point alarm = is_watched ? stall_.since + limit : kForEver;
  if (now >= alarm) {
    stall_.is_reported = true;
    report_stall(lock, now - stall_.since);
    return;
  }
  const Clock::time_point end = std::min(deadline, alarm);
  if (end == kForEver) {
    changed_.wait(lock);
  } else {
    changed_.wait_until(lock, end);
  }
}

void ExploreEngine::report_stall(Lock& lock, Clock::duration time) {
  try {
    const std::size_t pending = pending_.size();
    const std::string described = describe_pending();
    lock.unlock();
    Watchdog::write(time, pending, described);
  } catch (const std::bad_alloc&) {
    // It is only said; who waits goes on.
  }
  if (!lock.owns_lock()) lock.lock();
}

std::string ExploreEngine::describe_pending() const {
  std::ostringstream text;
  std::size_t named = 0;
  for (const auto& [sequence, operation] : pending_) {
    if (++named > StallReport::kMost) break;
    const PlainOperation& pushed = operation->pushed;
    text << "  ";
    write_name(text, sequence, pushed.name);
    text << " on " << pushed.options.device.str() << ", lane " << lane_name(pushed.options.lane)
         << ": ";
    if (operation->is_running) {
      text << "runs";
    } else if (operation->callable_ended) {
      text << "its Completion has not been used";
    } else if (operation->not_granted == 0) {
      text << "ready, but nothing has taken it up yet";
    } else {
      operation->write_blocker(text);
    }
    text << '\n';
  }
  if (pending_.size() > StallReport::kMost) {
    text << "  and " << pending_.size() - StallReport::kMost << " more\n";
  }
  return text.str();
}

bool ExploreEngine::run_one(Lock& lock) {
  ExploreOperation* const next = halted_ ? nullptr : schedule_.choose();
  if (next == nullptr) return false;
  run(*next, lock);
  return true;
}

void ExploreEngine::run(ExploreOperation& operation, Lock& lock) {
  operation.skipped = skip_reason(operation.pushed);
  const bool skip = operation.skipped != nullptr;
  operation.is_running = true;
  lock.unlock();
  if (tracing()) operation.pushed.started_at = now_ns();
  std::shared_ptr<OpCompletion> completion;
  std::exception_ptr without_memory;
  if (operation.pushed.async_task && !skip) {
    try {
      completion = std::make_shared<OpCompletion>(shared_from_this(), operation);
      completion->cancel = operation.pushed.options.cancel;
    } catch (const std::bad_alloc&) {
      without_memory = std::current_exception();
    }
  }
  Called called = call(operation.pushed, skip || without_memory != nullptr, completion);
  if (without_memory != nullptr && called.error == nullptr) {
    called.error = std::move(without_memory);
  }
  lock.lock();
  schedule_.free_lane(operation);
  operation.pushed.error = std::move(called.error);
  operation.callable_ended = true;
  operation.is_running = false;
  if (!called.awaits_completion || operation.completed) {
    end(operation);
  } else {
    changed_.notify_all();
  }
  {
    Ended ended;
    take_ended(ended);
    lock.unlock();
  }
  lock.lock();
}

void ExploreEngine::take_ended(Ended& to) noexcept {
  to.operations.swap(ended_operations_);
  take_dropped(to.dropped);
}

void ExploreEngine::end(ExploreOperation& operation) noexcept {
  conclude(operation.pushed, std::move(operation.skipped),
           operation.pushed.error != nullptr ? operation.pushed.error : operation.failed);
  schedule_.end(operation);
  for (Waiter* const waiter : waiters_) {
    if (waiter->is_over) continue;
    waiter->is_over = schedule_.is_settled(waiter->var, waiter->reads_too, waiter->last);
    if (waiter->is_over) waiter->poison = waiter->var->poison;
  }
  const auto generation = generations_.find(operation.generation);
  if (--generation->second == 0) generations_.erase(generation);
  ended_operations_.insert(pending_.extract(operation.sequence));
  give_place_back();
}

void ExploreEngine::wait_for_var(VarState* var, bool reads_too) {
  FailurePtr poison;
  {
    Lock lock(mutex_);
    check_usable(var, id(), wait_call(reads_too));
    trace_wait(var, reads_too);
    if (schedule_.is_settled(var, reads_too, last_sequence())) {
      poison = var->poison;
    } else {
      Waiter waiter{var, reads_too, last_sequence()};
      waiters_.push_back(&waiter);
      try {
        drive(lock, [&] { return waiter.is_over || abandoned_; });
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        std::erase(waiters_, &waiter);
        throw;
      }
      std::erase(waiters_, &waiter);
      if (!waiter.is_over) throw_abandoned(wait_call(reads_too));
      poison = std::move(waiter.poison);
    }
  }
  raise_poison(poison, reads_too);
}

void ExploreEngine::wait_for_all() {
  bool shutdown_cancelled = false;
  {
    Lock lock(mutex_);
    trace_wait(nullptr, /*reads_too=*/true);
    const std::uint64_t last = newest_generation_++;
    const auto is_over = [&] { return generations_.empty() || generations_.begin()->first > last; };
    drive(lock, [&] { return is_over() || abandoned_; });
    if (!is_over()) throw_abandoned("Engine::wait_for_all");
    shutdown_cancelled = shutdown_cancelled_;
  }
  raise_all(shutdown_cancelled);
}

std::uint64_t ExploreEngine::version(VarState* var) const {
  const Lock lock(mutex_);
  check_usable(var, id(), "Engine::version");
  return var->version;
}

std::string ExploreEngine::describe_writer(VarState* var) const {
  const Lock lock(mutex_);
  check_usable(var, id(), "Engine::wait_for_var");
  const ExploreOperation* const writer = schedule_.last_writer(var);
  if (writer == nullptr) return writer_text(*var);
  return writer_text(*var, writer->pushed.name, writer->sequence);
}

ShutdownReport ExploreEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  const Clock::time_point until = deadline_in(deadline);
  Lock lock(mutex_);
  if (mode == ShutdownMode::kCancel) cancelling_.store(true);
  stopped_ = true;
  changed_.notify_all();
  const bool is_empty = drive(
      lock, [this] { return places_ == 0; }, until);
  if (!is_empty) {
    abandoned_ = true;
    changed_.notify_all();
  }
  ShutdownReport report = ended_;
  report.abandoned = places_;
  return report;
}

bool ExploreEngine::close() {
  do {
    Lock lock(mutex_);
    if (abandoned_ && places_ != 0) return false;
    drive(lock, [this] { return places_ == 0; });
  } while (forget_errors());  // while what an error pushes in the end still has somewhere to go
  return true;
}

void ExploreEngine::finish_at_exit(std::chrono::milliseconds limit) {
  Lock lock(mutex_);
  halted_ = !drive(
      lock, [this] { return places_ == 0; }, Clock::now() + limit);
}

}  // namespace heddle::detail
