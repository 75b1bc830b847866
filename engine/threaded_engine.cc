#include "engine/threaded_engine.h"

#include <new>
#include <utility>

#include <unistd.h>

#include "engine/async_state.h"
#include "engine/block.h"
#include "engine/operation_scope.h"
#include "engine/stop.h"

namespace heddle::detail {
namespace {

using Clock = base::Clock;

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
  watchdog_.stop();
  router_.stop();
}

bool ThreadedEngine::try_admit() {
  Ready ready(*this);
  PendingLimit& limit = ledger_.limit();
  const bool inside = OperationScope::current() != nullptr;
  const bool must_queue = !inside && limit.has_line();
  if (!must_queue && ledger_.try_admit(ready.list, /*forced=*/inside)) return true;
  if (limit.stopped()) throw_stopped("Engine::try_push");
  return false;
}

inline Route ThreadedEngine::route(const Submission& submission) {
  const PushOptions& options = *submission.options;
  const bool is_async = submission.async_task != nullptr;
  unsigned flags = Operation::flags_of(submission.kind, options.lane);
  if (options.overwrites) flags |= Operation::kOverwrites;
  if (options.brief) flags |= Operation::kBrief;
  if (is_async) flags |= Operation::kAsync;
  if (!options.name.empty()) flags |= Operation::kNamed;
  if (submission.reads.size() + submission.mutates.size() > Operation::kInlineAccesses) {
    flags |= Operation::kManyAccesses;
  }
  if (options.cancel) flags |= Operation::kCancellable;
  Route route;
  const bool has_callable = submission.task != nullptr || is_async;
  const bool is_brief_end = submission.kind == Submission::Kind::kDelete && options.brief;
  if (has_callable && !is_brief_end) {
    route.queue = &router_.find(options.device, options.lane);
    if (route.queue->is_stream()) {
      flags |= Operation::kOnStream;
      // A copy that stands in its stream while it waits for a far-off producer would hold up every
      // copy behind it: there it is better to wait on the host, where priorities count.
      if (options.lane == Lane::kCompute) flags |= Operation::kFollowsIssued;
    }
  } else if (submission.frees_early) {
    route.queue = &router_.find_frees(options.device);
    flags |= Operation::kFreesEarly | Operation::kOnStream | Operation::kFollowsIssued;
  } else {
    flags |= Operation::kInline;
  }
  route.flags = static_cast<std::uint16_t>(flags);
  constexpr unsigned kWithExtras = Operation::kAsync | Operation::kNamed |
                                   Operation::kManyAccesses | Operation::kOnStream |
                                   Operation::kCancellable;
  route.has_extras = (flags & kWithExtras) != 0 || tracing();
  return route;
}

/// True if it just runs on a worker: outside of operations it may be left.
inline bool ThreadedEngine::may_leave(const Submission& submission, const Route& route) {
  if (route.has_extras || route.queue == nullptr || route.queue->is_stream()) return false;
  return submission.kind == Submission::Kind::kRun;
}

std::uint64_t ThreadedEngine::submit(Submission& submission) {
  using Admission = Submission::Admission;
  const bool inside = OperationScope::current() != nullptr;
  if (inside && submission.admission == Admission::kBlock) {
    submission.admission = Admission::kForced;
  }
  try {
    const Route where = route(submission);
    const bool leaves = !inside && may_leave(submission, where);
    if (tracing()) submission.pushed_at = now_ns();
    for (;;) {
      Intake::Left left;
      if (leaves) left = ledger_.intake().try_leave(submission, where);
      if (left.sequence != 0) {
        static_cast<WorkerPool*>(where.queue)->expect_arrival();
        return left.sequence;
      }
      if (!left.lacks_room) {
        Ready ready(*this);
        const std::uint64_t sequence = ledger_.push(submission, where, ready.list);
        if (sequence != 0) return sequence;
      }
      wait_for_room(submission.call());
      submission.admission = Admission::kAdmitted;
    }
  } catch (...) {
    if (submission.admission == Admission::kAdmitted) ledger_.give_back_place();
    throw;
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
  std::unique_ptr<GraphRun> graph = graph_of(run);
  block.graph = graph.get();
  if (graph != nullptr) graph->pool().open(*graph);
  Ready ready(*this);
  try {
    for (;;) {
      switch (ledger_.push_some(block, ready.list)) {
        case Ledger::Pushed::kAll:
          dispatch_to_workers(ready.list);
          if (graph != nullptr && !graph->end_push()) {
            graph.release();  // NOLINT(bugprone-unused-return-value): who ends it deletes it
          }
          return block.first;
        case Ledger::Pushed::kSome:
          dispatch_to_workers(ready.list);
          break;
        case Ledger::Pushed::kNone:
          dispatch(ready.list);
          wait_for_room("Recording::run");
          block.admission = Admission::kAdmitted;
          break;
      }
    }
  } catch (...) {
    if (graph != nullptr) graph->pool().close(*graph);
    if (block.admission == Admission::kAdmitted) ledger_.give_back_place();
    throw;
  }
}

void ThreadedEngine::dispatch_to_workers(ReadyList& ready) noexcept {
  ReadyList now;
  ReadyList later;
  while (Operation* const op = ready.pop()) {
    (is_for_worker(*op) ? now : later).push(*op);
  }
  dispatch(now);
  ready = later;
}

void ThreadedEngine::wait_for_room(std::string_view call) {
  const bool admitted = ledger_.limit().wait_for_room([this] {
    Ready ready(*this);
    return ledger_.try_admit(ready.list, /*forced=*/false);
  });
  if (!admitted) throw_stopped(call);
}

void ThreadedEngine::dispatch(ReadyList& ready) {
  while (Operation* op = ready.pop()) {
    if (op->kind() == Submission::Kind::kUse) {
      op->use.run->grant(*op);
      continue;
    }
    const std::int64_t now = tracing() ? now_ns() : 0;
    if (tracing()) op->extras->ready_at = now;
    if (op->is(Operation::kInline)) {
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

void ThreadedEngine::wait(Waiter& waiter, VarState* var) {
  const Waiter::State state = block(waiter, var);
  ledger_.end_wait(var != nullptr);
  if (state != Waiter::State::kStopped) return;
  throw_abandoned(var != nullptr ? "Engine::wait_for_var" : "Engine::wait_for_all");
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
  if (waits) wait(waiter, var);
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
  if (tracing()) trace_wait(nullptr, /*reads_too=*/true);
  if (waits) wait(waiter, nullptr);
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
  Ready ready(*this);
  return ledger_.ended(ready.list);
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
  ledger_.visit_pending([this](const Operation& op) { stall_report_.add(op); });
  return stall_report_.text();
}

ShutdownReport ThreadedEngine::shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) {
  if (mode == ShutdownMode::kCancel) modes_.fetch_or(kCancelling);
  ledger_.limit().stop();
  // The report is that of the look which finds nothing pending: deletions may come later.
  Ledger::Ended last;
  const auto look = [&] {
    last = ended();
    return last.places;
  };
  if (ledger_.limit().wait_until_empty(deadline_in(deadline), look)) return last.report;
  abandoned_.store(true);
  ledger_.stop_waiters();
  return ended().report;
}

bool ThreadedEngine::close() {
  if (abandoned_.load() && pending() != 0) return false;
  do {
    ledger_.limit().wait_until_empty(Clock::time_point::max(), [this] { return pending(); });
  } while (errors_.forget());  // while what an error pushes in the end still has somewhere to go
  watchdog_.stop();
  router_.stop();
  return true;
}

void ThreadedEngine::finish_at_exit(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  if (!ledger_.limit().wait_until_empty(deadline, [this] { return pending(); })) {
    modes_.fetch_or(kHalted);
  }
}

}  // namespace heddle::detail
