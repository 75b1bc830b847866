// How a ThreadedEngine runs the operations of a recording whose graph is known.

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "engine/graph_run.h"
#include "engine/operation_scope.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {

/// With a trace every operation has times of its own, and with checks a list of what it declared.
std::unique_ptr<GraphRun> ThreadedEngine::graph_of(ProgramRun& run) const {
  if (run.graph() == nullptr || modes_.load(std::memory_order_relaxed) != 0) return nullptr;
  auto& pool = static_cast<WorkerPool&>(*run.op(0).route.queue);
  if (!pool.may_open()) return nullptr;
  return std::make_unique<GraphRun>(run, pool);
}

Outcome ThreadedEngine::execute_recorded(GraphRun& run, std::uint32_t i) {
  const bool is_simple = run.is_simple(i);
  const PushOptions& options = run.op(is_simple ? 0 : i).options;
  const std::string_view name = is_simple ? std::string_view() : options.name;
  OperationScope scope(this, name, run.sequence(i), options.device, options.lane, run.generation());
  RunContext context{options.device, options.lane, run.sequence(i), this};
  if (run.has_failed() || modes_.load(std::memory_order_relaxed) != 0) {
    return execute_unusual(run, i, context);
  }
  std::exception_ptr error;  // outlives its handler, which keeps what it handles
  try {
    run.call(i, context);
    return Outcome::kCompleted;
  } catch (...) {
    error = std::current_exception();
  }
  return fail(run, i, std::move(error));
}

Outcome ThreadedEngine::execute_unusual(GraphRun& run, std::uint32_t i,
                                        RunContext& context) noexcept {
  halt_if_asked();
  FailurePtr failure = run.inherited(i);
  if (failure == nullptr && is_on(kCancelling)) {
    failure = cancelled_by_shutdown(run.sequence(i), /*name=*/{});
  }
  if (failure != nullptr) {
    if (failure->is_from_shutdown()) modes_.fetch_or(kHasCancelled);
    run.carry(i, failure, ledger_);
    return failure->error ? Outcome::kSkipped : Outcome::kCancelled;
  }
  std::exception_ptr error;
  try {
    run.call(i, context);
  } catch (...) {
    error = std::current_exception();
  }
  if (error != nullptr) return fail(run, i, std::move(error));
  run.carry(i, nullptr, ledger_);
  return Outcome::kCompleted;
}

Outcome ThreadedEngine::fail(GraphRun& run, std::uint32_t i, std::exception_ptr error) noexcept {
  const RecordedOp& op = run.op(i);
  FailurePtr failure = failed(run.sequence(i), op.name, op.options.device, std::move(error));
  errors_.add(failure);
  run.carry(i, failure, ledger_);
  ledger_.drop(std::move(failure));
  return Outcome::kFailed;
}

void ThreadedEngine::post_recorded(const GraphRun& run, Mailbox& mailbox, ReadyList& uses) {
  ReadyList ready;
  bool is_awaited = false;
  while (Operation* const use = uses.pop()) {
    const bool is_inner = run.graph().uses[use->use.number].is_inner;
    const Awaited how = ledger_.post_use(mailbox, *use, ready);
    // The order is looked at after the post, and who gives it up collects after that.
    const bool is_next = how == Awaited::kByNext && run.keeps_order();
    is_awaited = is_awaited || (!is_inner && how != Awaited::kNo && !is_next);
  }
  if (is_awaited) ledger_.collect(ready);
  dispatch(ready);
}

bool ThreadedEngine::end_recorded(GraphRun& run, std::uint32_t i, GraphRun::Step& step) {
  if (step.was_last) {
    // The captured callables may be destroyed by this.
    const RecordedOp& op = run.op(i);
    std::string name;
    try {
      name = op.name;
    } catch (const std::bad_alloc&) {  // nameless
    }
    const OperationScope scope(this, name, run.sequence(i), op.options.device, op.options.lane,
                               run.generation());
    run.let_go();
  }
  ReadyList ready;
  const bool is_over = ledger_.end_uses(run, step.ended, ready);
  dispatch(ready);
  return is_over;
}

}  // namespace heddle::detail
