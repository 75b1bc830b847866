#include "engine/operation_scope.h"

#include <algorithm>
#include <utility>

#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/var_state.h"

namespace heddle::detail {

constinit thread_local OperationScope* OperationScope::t_current = nullptr;

OperationScope::Rare& OperationScope::rare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

void OperationScope::close() noexcept {
  for (const Opened& opened : rare_->opened) opened.backend->close(opened.block, opened.bytes);
}

OperationScope* OperationScope::exchange_current(OperationScope* scope) noexcept {
  return std::exchange(t_current, scope);
}

const OperationScope* OperationScope::of(const EngineCore& engine) noexcept {
  const OperationScope* scope = t_current;
  while (scope != nullptr && scope->engine_ != &engine) scope = scope->outer_;
  return scope;
}

void OperationScope::begin_check(std::vector<AccessCheck::Declared> declared) {
  rare().check = std::make_unique<AccessCheck>(name_, sequence_, std::move(declared));
}

void OperationScope::finish_check() {
  if (rare_->check != nullptr) std::exchange(rare_->check, nullptr)->finish();
}

AccessCheck* OperationScope::check_for(const VarState& var) noexcept {
  for (const OperationScope* scope = t_current; scope != nullptr; scope = scope->outer_) {
    if (scope->engine_->id() != var.engine_id) continue;
    return scope->rare_ != nullptr ? scope->rare_->check.get() : nullptr;
  }
  return nullptr;
}

void OperationScope::open(device::Backend& backend, void* block, std::size_t bytes) {
  std::vector<Opened>& all = rare().opened;
  const bool known = std::any_of(all.begin(), all.end(),
                                 [block](const Opened& opened) { return opened.block == block; });
  if (known) return;
  all.push_back({&backend, block, bytes});
  try {
    backend.open(block, bytes);
  } catch (...) {
    all.pop_back();  // what is not open is not closed
    throw;
  }
}

}  // namespace heddle::detail
