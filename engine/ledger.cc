#include "engine/ledger.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/fetch_ahead.h"
#include "engine/graph_run.h"
#include "engine/ledger_turn.h"
#include "engine/operation_scope.h"
#include "engine/stop.h"

namespace heddle::detail {

Ledger::Ledger(const EngineCore& engine, std::size_t max_pending)
    : engine_(engine),
      intake_(engine.id(), max_pending),
      disposal_([this] { return destroy_one(); }) {
  operations_.reserve(1);  // so that what arrives can be taken in, if not all at once
}

Mailbox& Ledger::new_mailbox() {
  const std::lock_guard lock(lock_);
  mailboxes_.push_back(std::make_unique<Mailbox>());
  return *mailboxes_.back();
}

/// All of the filling that may throw.
void Ledger::make_room(Operation& op, const Submission& submission, bool is_traced) const {
  if (op.extras == nullptr) op.extras = std::make_unique<OperationExtras>();
  const std::string_view name = submission.options->name;
  if (!name.empty()) op.extras->name.assign(name);
  const std::size_t accesses = submission.reads.size() + submission.mutates.size();
  if (accesses > Operation::kInlineAccesses) op.extras->reserve(op, accesses);
  if (is_traced) op.extras->cost = ModelCost::of(submission, engine_);
}

void Ledger::fill(Operation& op, Submission& submission, const Route& route) {
  const PushOptions& options = *submission.options;
  op.begin(submission.priority, options.device, route.flags, route.queue);
  // Made anew, as a look at the old one, which is empty, would wait for its line.
  if (submission.task != nullptr) {
    std::construct_at(&op.task, std::move(*submission.task));
  } else {
    std::construct_at(&op.task);
  }
  if (!route.has_extras) return;
  if (submission.async_task != nullptr) {
    op.extras->async_task = std::move(*submission.async_task);
    op.extras->parts.store(2, std::memory_order_relaxed);
  }
  if (op.is(Operation::kCancellable)) op.extras->cancel = options.cancel;
  op.extras->recorded = submission.recorded;
  op.extras->pushed_at = submission.pushed_at;
  if (submission.pushed_at == 0) return;
  for (const VarList& list : {submission.reads, submission.mutates}) {
    for (std::size_t i = 0; i < list.size(); ++i) give_trace_id(*list[i]);
  }
}

ModelWait Ledger::model_wait(VarState* var, bool reads_too) {
  const std::scoped_lock lock(lock_, intake_.lock());
  return ModelWait::of(var, reads_too, intake_.last_sequence());
}

void Ledger::check(const Submission& submission) {
  const std::lock_guard lock(lock_);
  check_locked(submission);
}

void Ledger::check_locked(const Submission& submission) const {
  check_variables(submission, engine_.id());
}

/// Whether a submission, or if null the run of a recording, that asks for `admission` may be pushed
/// now. Throws EngineStopped.
bool Ledger::has_place(Submission::Admission admission, const Submission* submission,
                       ReadyList& ready) {
  if (admission != Submission::Admission::kBlock) return true;
  if (limit().stopped()) {
    throw_stopped(submission != nullptr ? submission->call() : "Recording::run");
  }
  if (limit().has_line()) return false;
  if (!limit().has_room()) collect_locked(ready);
  return limit().has_room();
}

Tracker::Held Ledger::place(Operation& op, Submission& submission, const Route& route,
                            const OperationScope* parent) {
  fill(op, submission, route);
  op.sequence = intake_.give_numbers(1);
  op.generation = parent != nullptr ? parent->generation() : generations_.newest();
  generations_.add(op.generation);
  Intake::name(submission.mutates);
  Intake::name(submission.reads);
  const Tracker::Held held = tracker_.push(op, submission.reads, submission.mutates);
  announce_if_held_back(op);
  return held;
}

std::uint64_t Ledger::push(Submission& submission, const Route& route, ReadyList& ready) {
  using Admission = Submission::Admission;
  const OperationScope* const parent = OperationScope::of(engine_);
  take_in_all(ready);  // most of it while others may push
  Turn turn(*this);
  turn.wait_for_block();
  const std::lock_guard lock(intake_.lock());
  if (take_in_locked(ready) != 0) hand_on_to_workers(ready);
  if (intake_.arrivals().size() != 0) throw std::bad_alloc();
  check_locked(submission);
  if (!has_place(submission.admission, &submission, ready)) return 0;
  if (operations_.unused() == 0 || ++pushes_ % kCollectEvery == 0) collect_locked(ready);
  operations_.reserve(1);
  Operation& op = operations_.next();
  if (route.has_extras) make_room(op, submission, submission.pushed_at != 0);
  operations_.take();
  operations_.fetch_ahead();
  const bool is_admitted = submission.admission == Admission::kAdmitted;
  if (submission.kind != Submission::Kind::kDelete) {
    intake_.keeps_order(submission.priority, is_admitted);
  }
  if (!is_admitted) limit().take();
  switch (place(op, submission, route, parent)) {
    case Tracker::Held::kNot:
      ready.push(op);
      break;
    case Tracker::Held::kByAwaited:
      break;  // who posts those collects
    case Tracker::Held::kByOthers:
      collect_locked(ready);  // these may be posted
      break;
  }
  if (submission.kind == Submission::Kind::kDelete) submission.mutates[0]->deleted = true;
  return op.sequence;
}

bool Ledger::try_admit(ReadyList& ready, bool forced) {
  const Turn turn(*this);
  const std::lock_guard lock(intake_.lock());
  if (!forced) {
    if (!limit().has_room()) dissolve_stretch_locked();
    if (!limit().has_room()) collect_locked(ready);
    if (limit().stopped() || !limit().has_room()) return false;
  }
  limit().take();
  return true;
}

void Ledger::give_back_place() {
  const Turn turn(*this);
  limit().give_back();
}

Awaited Ledger::post(Mailbox& mailbox, Operation& op, ReadyList& ready) {
  const Awaited awaited = post_use(mailbox, op, ready);
  return limit().has_line() ? Awaited::kUrgently : awaited;
}

Awaited Ledger::post_use(Mailbox& mailbox, Operation& op, ReadyList& ready) {
  if (mailbox.full()) collect(ready);
  mailbox.post(op);
  return op.awaited.load();  // if it is another operation by now, it has been taken note of
}

void Ledger::collect(ReadyList& ready) {
  const Turn turn(*this);
  collect_locked(ready);
}

void Ledger::collect_locked(ReadyList& ready) {
  for (const auto& mailbox : mailboxes_) {
    mailbox->take_all([&](Operation& op) { end_posted(op, ready); });
  }
  for (GraphRun* const run : graph_runs_) {
    if (limit().has_line() || limit().is_full()) run->count_rows();
    // The last place when everything has ended, callables and uses, too.
    const std::size_t ended = std::min<std::size_t>(run->ended(), run->size() - 1);
    limit().give_back(ended - std::exchange(run->given_back, ended));
  }
}

void Ledger::end_posted(Operation& op, ReadyList& ready) {
  if (op.kind() == Submission::Kind::kUse) {
    end_use(op, ready);
    return;
  }
  end_locked(op, ready);
  limit().give_back();
}

void Ledger::end_locked(Operation& op, ReadyList& ready) {
  ++ended_[static_cast<std::size_t>(op.outcome)];
  tracker_.done(op, ready);
  if (op.outcome != Outcome::kCompleted) tracker_.drop(std::exchange(op.failure, nullptr));
  generations_.end(op.generation);
  if (op.is(Operation::kOnStream)) op.extras->issued = op.extras->ended_early = false;
  op.phase.store(Operation::Phase::kUnused, std::memory_order_relaxed);
  operations_.give_back(op);
}

void Ledger::end_use(Operation& op, ReadyList& ready) {
  GraphRun& run = *op.use.run;
  tracker_.done(op, ready);
  if (op.failure != nullptr) tracker_.drop(std::exchange(op.failure, nullptr));
  op.phase.store(Operation::Phase::kUnused, std::memory_order_relaxed);
  operations_.give_back(op);
  --run.uses_in_ledger;
}

bool Ledger::try_end(Operation& op, ReadyList& ready) {
  if (!lock_.try_lock()) return false;
  const Turn turn(*this, std::adopt_lock);
  if (op.access_count() > 1) {
    fetch_neighbours(op);
    fetch_operations_behind(op);
  }
  end_locked(op, ready);
  limit().give_back();
  return true;
}

void Ledger::end(Operation& op, ReadyList& ready, bool keeps_place) {
  const Turn turn(*this);
  end_locked(op, ready);
  if (!keeps_place) limit().give_back();
}

void Ledger::tokens_before(const Operation& op, std::vector<device::Token>& tokens) {
  const std::lock_guard lock(lock_);
  Tracker::tokens_before(op, tokens);
}

bool Ledger::issued(Operation& op, device::Token token, ReadyList& ready) {
  const std::lock_guard lock(lock_);
  if (op.extras->ended_early) return false;
  op.extras->token = token;
  tracker_.issued(op, ready);
  if (op.awaited.load(std::memory_order_relaxed) != Awaited::kNo || is_urgent()) op.queue->hurry();
  return true;
}

void Ledger::end_on_stream(Operation& op, ReadyList& ready) {
  const Turn turn(*this);
  if (!op.extras->issued) {
    op.extras->ended_early = true;
    return;
  }
  end_locked(op, ready);
  limit().give_back();
}

FailurePtr Ledger::inherited(const Operation& op) {
  if (!tracker_.has_failed()) return nullptr;  // what `op` waited for ended before this
  const std::lock_guard lock(lock_);
  return tracker_.inherited(op);
}

void Ledger::drop(FailurePtr failure) {
  if (failure == nullptr) return;
  const Turn turn(*this);
  tracker_.drop(std::move(failure));
}

bool Ledger::destroy_one() {
  FailurePtr dropped;
  {
    const std::lock_guard lock(lock_);
    dropped = tracker_.take_dropped();
  }
  if (dropped == nullptr) return false;
  dropped.reset();
  {
    const std::lock_guard lock(lock_);
    ++destroyed_;
  }
  if (limit().is_draining()) limit().tell();
  return true;
}

bool Ledger::begin_wait(VarState* var, bool reads_too, Waiter& waiter, ReadyList& ready) {
  take_in_all(ready);
  const Turn turn(*this);
  check_usable(var, engine_.id(), wait_call(reads_too));
  collect_locked(ready);
  if (!tracker_.begin_wait(*var, reads_too, waiter)) {
    waiter.poison = var->poison;
    return false;
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  var_waiters_.fetch_add(1);
  collect_locked(ready);  // what was posted before it was awaited
  if (stopped_) tracker_.stop_waiters();
  return true;
}

bool Ledger::begin_wait_for_all(Waiter& waiter, ReadyList& ready) {
  const Turn turn(*this);
  {
    const std::lock_guard lock(intake_.lock());
    const Arrivals& arrivals = intake_.arrivals();
    const std::uint64_t first = std::max(intake_.first_uncounted(), arrivals.taken());
    generations_.add(generations_.newest(), arrivals.published() - first);
    intake_.set_counted();
    if (!generations_.begin_wait(waiter)) return false;
    intake_.set_generation(generations_.newest());
  }
  collect_locked(ready);
  if (stopped_) generations_.stop();
  return true;
}

void Ledger::end_wait(bool for_var) {
  const std::lock_guard lock(lock_);  // who woke the waiter does not touch it any more
  if (for_var) var_waiters_.fetch_sub(1);
}

Wanted Ledger::needed(const VarState& var, const Waiter& waiter) {
  const std::lock_guard lock(lock_);
  return Tracker::needed(var, waiter);
}

void Ledger::stop_waiters() {
  const std::lock_guard lock(lock_);
  stopped_ = true;
  tracker_.stop_waiters();
  generations_.stop();
}

Ledger::Ended Ledger::ended(ReadyList& ready) {
  const Turn turn(*this);
  dissolve_stretch_locked();
  for (GraphRun* const run : graph_runs_) run->count_rows();
  collect_locked(ready);
  const std::lock_guard lock(intake_.lock());
  const auto count = [this](Outcome outcome) {
    std::uint64_t all = ended_[static_cast<std::size_t>(outcome)];
    for (const GraphRun* const run : graph_runs_) all += run->ended(outcome);
    return all;
  };
  ShutdownReport report;
  report.completed = count(Outcome::kCompleted);
  report.failed = count(Outcome::kFailed) + count(Outcome::kSkipped);
  report.cancelled = count(Outcome::kCancelled);
  report.abandoned = intake_.last_sequence() - report.completed - report.failed - report.cancelled;
  return {report, limit().pending(), tracker_.dropped(), destroyed_};
}

std::uint64_t Ledger::version(VarState* var, ReadyList& ready) {
  const Turn turn(*this);
  check_usable(var, engine_.id(), "Engine::version");
  dissolve_stretch_locked();
  collect_locked(ready);
  if (var->oldest == nullptr) return var->version;
  // What a run does with the variable counts there when all of that has ended.
  const Operation& oldest = var->oldest->operation();
  const bool is_of_run = oldest.kind() == Submission::Kind::kUse && oldest.versions() != 0;
  return var->version + (is_of_run ? oldest.use.run->ended_writes(oldest.use.number) : 0);
}

std::string Ledger::describe_writer(VarState* var, ReadyList& ready) {
  take_in(ready);
  const Turn turn(*this);
  check_usable(var, engine_.id(), "Engine::wait_for_var");
  collect_locked(ready);
  if (var->last_write == nullptr) return writer_text(*var);
  const Operation& writer = var->last_write->operation();
  return writer_text(*var, writer.name(), writer.sequence);
}

}  // namespace heddle::detail
