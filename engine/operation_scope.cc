#include "engine/operation_scope.h"

#include <algorithm>
#include <utility>

#include "engine/device/backend.h"
#include "engine/engine_core.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {
thread_local OperationScope* t_current = nullptr;
}  // namespace

OperationScope::OperationScope(const EngineCore* engine, std::string_view name,
                               std::uint64_t sequence, Device device, Lane lane,
                               std::uint64_t generation)
    : engine_(engine),
      name_(name.empty() ? std::string_view("operation") : name),
      sequence_(sequence),
      device_(device),
      lane_(lane),
      generation_(generation),
      outer_(t_current) {
  t_current = this;
}

OperationScope::~OperationScope() {
  for (const Opened& opened : opened_) opened.backend->close(opened.block, opened.bytes);
  t_current = outer_;
}

OperationScope* OperationScope::current() noexcept { return t_current; }

OperationScope* OperationScope::exchange_current(OperationScope* scope) noexcept {
  return std::exchange(t_current, scope);
}

const OperationScope* OperationScope::of(const EngineCore& engine) noexcept {
  const OperationScope* scope = t_current;
  while (scope != nullptr && scope->engine_ != &engine) scope = scope->outer_;
  return scope;
}

void OperationScope::begin_check(std::vector<AccessCheck::Declared> declared) {
  check_ = std::make_unique<AccessCheck>(name_, sequence_, std::move(declared));
}

AccessCheck* OperationScope::check_for(const VarState& var) noexcept {
  for (const OperationScope* scope = t_current; scope != nullptr; scope = scope->outer_) {
    if (scope->engine_->id() == var.engine_id) return scope->check_.get();
  }
  return nullptr;
}

void OperationScope::open(device::Backend& backend, void* block, std::size_t bytes) {
  const bool known = std::any_of(opened_.begin(), opened_.end(),
                                 [block](const Opened& opened) { return opened.block == block; });
  if (known) return;
  opened_.push_back({&backend, block, bytes});
  backend.open(block, bytes);
}

}  // namespace heddle::detail
