#include "engine/model_op.h"

#include "engine/base/sync.h"
#include "engine/engine_core.h"
#include "engine/operation_scope.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {

/// Of the calling thread, and of no other in the process.
std::uint32_t thread_number() {
  static base::Atomic<std::uint32_t> next{1};
  thread_local const std::uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

ModelCost ModelCost::of(const Submission& submission, const EngineCore& engine) {
  const PushOptions& options = *submission.options;
  const bool by_operation = OperationScope::of(engine) != nullptr;
  return {.flops = options.flops,
          .bytes = options.bytes,
          .copies = {options.copies.begin(), options.copies.end()},
          .priority = submission.priority,
          .is_deletion = submission.kind == Submission::Kind::kDelete,
          .thread = by_operation ? 0 : thread_number()};
}

ModelWait ModelWait::of(VarState* var, bool reads_too, std::uint64_t last_sequence) {
  return {.thread = thread_number(),
          .after = last_sequence,
          .variable = var != nullptr ? give_trace_id(*var) : 0,
          .reads_too = reads_too};
}

}  // namespace heddle::detail
