#include "engine/threaded_engine.h"

#include <algorithm>
#include <new>

#include "engine/base/scoped_value.h"
#include "engine/device/deferred_call.h"
#include "engine/device/host_wait.h"
#include "engine/kept_nodes.h"
#include "engine/operation_scope.h"
#include "engine/stop.h"

namespace heddle::detail {
namespace {

using Clock = base::Clock;

/// The calling thread runs a callable in its dispatch(), which goes on with this list.
struct Inline {
  const ThreadedEngine* engine = nullptr;
  ReadyList* ready = nullptr;
};
constinit thread_local Inline t_inline;

/// The thread has given up the drain at the end of the process: it must not wait for what is left.
constinit thread_local bool t_ends_process = false;

}  // namespace

ThreadedEngine::ThreadedEngine(const EngineOptions& options)
    : EngineCore(options),
      ledger_(*this, options.max_pending),
      trace_(options.trace),
      modes_(static_cast<std::uint8_t>((options.trace ? +kTracing : 0) |
                                       (options.access_check ? +kChecking : 0))),
      watchdog_(
          options.watchdog, [this] { return progress(); }, [this] { return describe_pending(); }),
      router_(*this) {}

ThreadedEngine::~ThreadedEngine() {
  ledger_.disposal().stop();
  watchdog_.stop();
  router_.stop();
}

void ThreadedEngine::dispatch(ReadyList& ready) {
  while (Operation* const op = ready.pop()) {
    if (!try_hand_on(*op, ready)) return dispatch_here(*op, ready);
  }
}

/// False if the callable is to run on the calling thread.
bool ThreadedEngine::try_hand_on(Operation& op, ReadyList& ready) {
  if (op.kind() == Submission::Kind::kUse) {
    grant_with_next(op, ready);
    return true;
  }
  if (op.is(Operation::kNoQueue)) return false;
  if (op.queue->runs_callables() && !op.is(Operation::kFreesEarly)) return false;
  submit_with_next(op, ready);
  return true;
}

/// Apart, so that it costs the way of most operations nothing.
[[gnu::noinline]] void ThreadedEngine::dispatch_here(Operation& first, ReadyList& ready) {
  // What runs here may wait for memory that another operation gives back: all are queued before.
  // And nothing waits inside of an operation that has only pushed it.
  const bool is_inside =
      OperationScope::current() != nullptr && device::deferred_calls() == nullptr;
  const device::Deferral deferral;
  ReadyList last;
  for (Operation* op = &first; op != nullptr; op = ready.pop()) {
    if (try_hand_on(*op, ready)) continue;
    if (op->is(Operation::kNoQueue)) {
      run_here(*op, ready);
    } else {
      last.insert(*op);
    }
  }
  while (Operation* const op = last.pop()) submit_with_next(*op, last);
  if (is_inside) device::leave_deferred_calls();
}

/// Deletions whose callables delete may be many: of those the outermost one runs all.
void ThreadedEngine::run_here(Operation& op, ReadyList& ready) {
  if (t_inline.engine == this) return t_inline.ready->push(op);
  if (tracing()) op.extras->ready_at = now_ns();
  KeptNodes::give_back();
  {
    const base::ScopedValue<Inline> scope(t_inline, {this, &ready});
    execute(op);
  }
  finish(op, ready);
}

/// At once, as who runs operations of the run wants its lock, too.
void ThreadedEngine::grant_with_next(Operation& first, ReadyList& ready) {
  GraphRun& run = *first.use.run;
  const auto is_next = [&run](const Operation* op) {
    return op != nullptr && op->kind() == Submission::Kind::kUse && op->use.run == &run;
  };
  ReadyList uses;
  uses.push(first);
  while (is_next(ready.front())) uses.push(*ready.pop());
  run.grant(uses);
}

void ThreadedEngine::submit_with_next(Operation& first, ReadyList& ready) const {
  LaneQueue& queue = *first.queue;
  const std::int64_t now = tracing() ? now_ns() : 0;
  ReadyList batch;
  for (Operation* op = &first; op != nullptr;) {
    if (tracing()) op->extras->ready_at = now;
    batch.push(*op);
    const bool goes_on = ready.front() != nullptr && ready.front()->queue == &queue;
    op = goes_on ? ready.pop() : nullptr;
  }
  queue.submit(batch);
}

void ThreadedEngine::collect() {
  Ready ready(*this);
  ledger_.collect(ready.list);
}

void ThreadedEngine::take_in() {
  Ready ready(*this);
  ledger_.take_in(ready.list);
}

void ThreadedEngine::help(Guest& guest, const Waiter& waiter, VarState* var) {
  const auto wanted = [&] {
    return var != nullptr ? ledger_.needed(*var, waiter)
                          : Wanted{.generations = waiter.generation + 1};
  };
  while (!waiter.woken() && guest.may_run() && guest.run(wanted())) {
  }
}

Waiter::State ThreadedEngine::block(Waiter& waiter, VarState* var) {
  WorkerPool* const pool = router_.compute_pool();
  if (pool == nullptr || !pool->may_have_guest()) {
    return waiter.wait([this] {
      collect();
      return false;
    });
  }
  Guest guest(*this, *pool);
  help(guest, waiter, var);
  return waiter.wait([&] {
    collect();
    help(guest, waiter, var);
    return var == nullptr && guest.asks_for_seat();
  });
}

bool ThreadedEngine::must_not_wait() const noexcept { return t_ends_process && has_halted(); }

void ThreadedEngine::wait(Waiter& waiter, VarState* var, std::string_view call) {
  if (var == nullptr) router_.hurry();
  if (must_not_wait()) ledger_.stop_waiters();
  const Waiter::State state = block(waiter, var);
  ledger_.end_wait(var != nullptr);
  if (state == Waiter::State::kStopped) throw_abandoned(call);
}

void ThreadedEngine::trace_wait(VarState* var, bool reads_too) noexcept try {
  trace_.add(ledger_.model_wait(var, reads_too));
} catch (const std::bad_alloc&) {
}

void ThreadedEngine::wait_for_var(VarState* var, bool reads_too) {
  Waiter waiter;
  const bool waits = [&] {
    Ready ready(*this);
    return ledger_.begin_wait(var, reads_too, waiter, ready.list);
  }();
  if (tracing()) trace_wait(var, reads_too);
  if (waits) wait(waiter, var, wait_call(reads_too));
  if (waiter.poison == nullptr) return;
  errors_.mark_reported(*waiter.poison);
  raise(*waiter.poison, wait_call(reads_too));
}

void ThreadedEngine::wait_for_all() {
  Waiter waiter;
  const bool waits = [&] {
    Ready ready(*this);
    return ledger_.begin_wait_for_all(waiter, ready.list);
  }();
  if (tracing()) trace_wait(nullptr, /*reads_too=*/true);
  if (waits) wait(waiter, nullptr, "Engine::wait_for_all");
  errors_.raise_all();
  if (is_on(kHasCancelled)) throw_cancelled();
}

std::uint64_t ThreadedEngine::version(VarState* var) const {
  Ready ready(*this);
  return ledger_.version(var, ready.list);
}

std::string ThreadedEngine::describe_writer(VarState* var) const {
  Ready ready(*this);
  return ledger_.describe_writer(var, ready.list);
}

Ledger::Ended ThreadedEngine::ended() {
  const Ledger::Ended now = [this] {
    Ready ready(*this);
    return ledger_.ended(ready.list);
  }();
  if (now.dropped == now.destroyed || ledger_.disposal().ask()) return now;
  while (ledger_.destroy_one()) {  // as there can be no thread for that
  }
  return now;
}

Watchdog::Progress ThreadedEngine::progress() {
  take_in();
  const ShutdownReport report = ended().report;
  ledger_.visit_pending([this](const Operation& op) { stall_report_.look(op); });
  stall_report_.end_look();
  return {report.completed + report.failed + report.cancelled, report.abandoned};
}

std::string ThreadedEngine::describe_pending() {
  take_in();
  ledger_.visit_pending([this](const Operation& op) { stall_report_.choose(op); });
  ledger_.visit_pending([this](const Operation& op) { stall_report_.describe(op); });
  return stall_report_.text();
}

/// What was dropped by now: so it may push when it is destroyed.
void ThreadedEngine::destroy_dropped(Clock::time_point deadline) {
  const Ledger::Ended now = ended();
  if (now.dropped == now.destroyed) return;
  static_cast<void>(ledger_.limit().wait_until_empty(
      deadline, [&] { return now.dropped - std::min(now.dropped, ended().destroyed); }));
}

ShutdownReport ThreadedEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  if (mode == ShutdownMode::kCancel) modes_.fetch_or(kCancelling);
  const Clock::time_point end = deadline_in(deadline);
  destroy_dropped(end);
  ledger_.limit().stop();
  // The report is that of the look which finds nothing pending: deletions may come later.
  Ledger::Ended last;
  const auto look = [&] {
    last = ended();
    return pending(last);
  };
  router_.hurry();
  if (ledger_.limit().wait_until_empty(end, look) || last.places == 0) return last.report;
  abandoned_.store(true);
  ledger_.stop_waiters();
  return ended().report;
}

bool ThreadedEngine::close() {
  if (abandoned_.load() && ended().places != 0) return false;
  const device::HostWait wait;  // the caller may be an operation of another engine
  do {
    ledger_.limit().wait_until_empty(Clock::time_point::max(), [this] { return look_for_ends(); });
  } while (errors_.forget());  // while what an error pushes in the end still has somewhere to go
  // Its threads may still destroy thread_local objects of the user's.
  ledger_.limit().stop();
  ledger_.stop_waiters();
  modes_.fetch_or(kClosed);
  ledger_.disposal().stop();
  watchdog_.stop();
  router_.stop();
  return true;
}

/// By who is in a HostWait. How many are pending.
std::size_t ThreadedEngine::look_for_ends() {
  const std::size_t left = pending(ended());
  device::leave_deferred_calls();  // what has become ready
  return left;
}

void ThreadedEngine::finish_at_exit(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  device::begin_host_wait();  // for good: the caller may be an operation
  if (!ledger_.limit().wait_until_empty(deadline, [this] { return look_for_ends(); })) {
    modes_.fetch_or(kHalted);
    t_ends_process = true;
    ledger_.disposal().halt();
  }
}

}  // namespace heddle::detail
