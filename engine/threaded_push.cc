// How a ThreadedEngine takes what is pushed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/block.h"
#include "engine/operation_scope.h"
#include "engine/stop.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

/// Operations with one of these are never left.
constexpr unsigned kNeverLeft = Operation::kAsync | Operation::kNamed | Operation::kCancellable;

/// Those with one of these are not pushed the shortest way.
constexpr unsigned kUnusual = kNeverLeft | Operation::kManyAccesses;

/// Those with one of these have OperationExtras.
constexpr unsigned kWithExtras = kUnusual | Operation::kOnStream;

/// What the arguments of a push say, wherever it goes.
unsigned flags_of(Submission::Kind kind, const PushOptions& options, std::size_t accesses) {
  unsigned flags = Operation::flags_of(kind, options.lane);
  if (options.overwrites) flags |= Operation::kOverwrites;
  if (options.brief) flags |= Operation::kBrief;
  if (!options.name.empty()) flags |= Operation::kNamed;
  if (options.cancel) flags |= Operation::kCancellable;
  if (accesses > Operation::kInlineAccesses) flags |= Operation::kManyAccesses;
  return flags;
}

}  // namespace

bool ThreadedEngine::try_admit() {
  Ready ready(*this);
  PendingLimit& limit = ledger_.limit();
  const bool inside = OperationScope::current() != nullptr;
  const bool must_queue = !inside && limit.has_line();
  if (!must_queue && ledger_.try_admit(ready.list, /*forced=*/inside)) return true;
  if (limit.stopped()) throw_stopped("Engine::try_push");
  router_.hurry();
  return false;
}

Route ThreadedEngine::route(const Submission& submission) {
  const PushOptions& options = *submission.options;
  const bool is_async = submission.async_task != nullptr;
  unsigned flags =
      flags_of(submission.kind, options, submission.reads.size() + submission.mutates.size());
  if (is_async) flags |= Operation::kAsync;
  Route route;
  const bool has_callable = submission.task != nullptr || is_async;
  const bool is_brief_end =
      submission.kind == Submission::Kind::kDelete && (options.brief || is_on(kClosed));
  if (has_callable && !is_brief_end) {
    route.queue = &router_.find(options.device, options.lane);
    flags |= route.queue->flags();
  } else if (submission.frees_early) {
    route.queue = &router_.find_frees(options.device);
    flags |= Operation::kFreesEarly | route.queue->flags();
  } else {
    flags |= Operation::kNoQueue;
  }
  route.flags = static_cast<std::uint16_t>(flags);
  route.has_extras = (flags & kWithExtras) != 0 || tracing();
  route.may_leave = submission.kind == Submission::Kind::kRun && (flags & kNeverLeft) == 0 &&
                    route.queue != nullptr && route.queue->pool() != nullptr && !tracing();
  return route;
}

[[gnu::always_inline]] inline Intake::Left ThreadedEngine::try_leave(
    const PlainPush& push, std::string_view call, WorkerPool& pool,
    std::unique_ptr<ManyVariables>* many) {
  const Intake::Left left = ledger_.intake().try_leave(push, call, many);
  if (left.sequence != 0) pool.expect_arrival();
  return left;
}

/// Apart, so that it costs the way of most pushes nothing.
template <bool kMayLeave>
[[gnu::noinline]] std::uint64_t ThreadedEngine::push_slowly(Task& task, VarList reads,
                                                            VarList mutates,
                                                            const PushOptions& options) {
  Submission submission = submission_of(task, reads, mutates, options);
  return submit(submission, kMayLeave);
}

std::uint64_t ThreadedEngine::push(Task& task, VarList reads, VarList mutates,
                                   const PushOptions& options) {
  const unsigned flags = flags_of(Submission::Kind::kRun, options, reads.size() + mutates.size());
  if (OperationScope::current() == nullptr && !tracing() && !options.device.is_gpu() &&
      (flags & kUnusual) == 0) {
    auto& pool = static_cast<WorkerPool&>(router_.find(options.device, options.lane));
    const Intake::Left left = try_leave({.task = task,
                                         .reads = reads,
                                         .mutates = mutates,
                                         .device = options.device,
                                         .queue = &pool,
                                         .priority = options.priority,
                                         .flags = static_cast<std::uint16_t>(flags)},
                                        "Engine::push", pool);
    if (left.sequence != 0) return left.sequence;
    if (!left.lacks_room) return push_slowly<false>(task, reads, mutates, options);
  }
  return push_slowly<true>(task, reads, mutates, options);
}

std::uint64_t ThreadedEngine::submit(Submission& submission) {
  return submit(submission, /*may_leave=*/true);
}

std::uint64_t ThreadedEngine::submit(Submission& submission, bool may_leave) {
  using Admission = Submission::Admission;
  const bool inside = OperationScope::current() != nullptr;
  if (inside && submission.admission == Admission::kBlock) {
    submission.admission = Admission::kForced;
  }
  try {
    const Route where = route(submission);
    const bool leaves = may_leave && !inside && where.may_leave;
    if (tracing()) submission.pushed_at = now_ns();
    std::unique_ptr<ManyVariables> many;
    if (leaves && (where.flags & Operation::kManyAccesses) != 0) {
      many = std::make_unique<ManyVariables>(submission.mutates, submission.reads, where.queue);
    }
    for (;;) {
      Intake::Left left;
      if (leaves) {
        left =
            try_leave({.task = *submission.task,
                       .reads = submission.reads,
                       .mutates = submission.mutates,
                       .device = submission.options->device,
                       .queue = where.queue,
                       .priority = submission.priority,
                       .flags = where.flags,
                       .has_place = submission.admission == Admission::kAdmitted},
                      submission.call(), *where.queue->pool(), many != nullptr ? &many : nullptr);
      }
      if (left.sequence != 0) return left.sequence;
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
  Block block{.engine = *this,
              .run = run,
              .admission = inside ? Admission::kForced : Admission::kBlock,
              .pushed_at = tracing() ? now_ns() : 0};
  std::unique_ptr<GraphRun> graph = graph_of(run);
  block.graph = graph.get();
  if (graph != nullptr) graph->pool().open(*graph);
  Ready ready(*this);
  try {
    if (graph == nullptr && !inside && just_runs() && !run.pools().empty()) prepare_to_leave(block);
    for (;;) {
      switch (ledger_.push_some(block, ready.list)) {
        case Ledger::Pushed::kAll:
          dispatch_to_workers(ready.list);
          if (block.leaves) {
            for (WorkerPool* const pool : run.pools()) pool->expect_arrival();
          }
          if (graph != nullptr && !graph->end_push()) {
            graph.release();  // NOLINT(bugprone-unused-return-value): who ends it deletes it
          }
          return block.first;
        case Ledger::Pushed::kSome:
          dispatch_to_workers(ready.list);
          if (block.leaves) begin_with(block);
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
    if (block.is_admitted()) ledger_.give_back_place();
    throw;
  }
}

/// All of leaving the operations that may throw, but for what the ledger does first.
void ThreadedEngine::prepare_to_leave(Block& block) {
  const std::size_t count = block.run.has_many() ? block.run.size() : 0;
  for (std::size_t i = 0; i != count; ++i) {
    const RecordedOp& op = block.run.op(i);
    if (!op.has_many()) continue;
    block.many.push_back(
        std::make_unique<ManyVariables>(block.run.mutates(i), block.run.reads(i), op.route.queue));
  }
  block.leaves = true;
}

/// Wakes a worker for what has been left, if all sleep. More than that may run something.
void ThreadedEngine::begin_with(const Block& block) {
  if (block.next == 0) return;
  WorkerPool& pool = *block.run.op(block.next - 1).route.queue->pool();
  if (pool.lacks_searcher()) pool.wake_one(/*is_for_push=*/true);
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
  router_.hurry();
  if (must_not_wait()) throw_stopped(call);
  const bool admitted = ledger_.limit().wait_for_room([this] {
    Ready ready(*this);
    return ledger_.try_admit(ready.list, /*forced=*/false);
  });
  if (!admitted) throw_stopped(call);
}

}  // namespace heddle::detail
