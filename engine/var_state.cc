#include "engine/var_state.h"

#include <exception>
#include <stdexcept>

#include "heddle/var.h"

namespace heddle {
namespace detail {
namespace {

std::string default_name() {
  static base::Atomic<std::uint64_t> next{1};
  return "v" + std::to_string(next.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

VarState::VarState(std::uint64_t engine, std::string_view given_name)
    : engine_id(engine), name(given_name.empty() ? default_name() : std::string(given_name)) {}

void retain(VarState* state) noexcept {
  if (state != nullptr) state->handles.fetch_add(1, std::memory_order_relaxed);
}

void release(VarState* state) noexcept {
  if (state == nullptr || state->handles.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  settle(*state, VarState::kHandles - state->named);
}

bool settles_last(VarState& var, std::uint64_t count) noexcept {
  return var.remaining.fetch_sub(count, std::memory_order_acq_rel) == count;
}

void settle(VarState& var, std::uint64_t count) noexcept {
  if (settles_last(var, count)) delete &var;
}

std::uint64_t give_trace_id(VarState& var) {
  static base::Atomic<std::uint64_t> next{1};
  if (var.trace_id == 0) var.trace_id = next.fetch_add(1, std::memory_order_relaxed);
  return var.trace_id;
}

std::string writer_text(const VarState& var) {
  return "variable '" + var.name + "', which has no pending writer";
}

std::string writer_text(const VarState& var, std::string_view name, std::uint64_t sequence) {
  return "variable '" + var.name + "', to be written by '" +
         std::string(name.empty() ? "operation" : name) + "' #" + std::to_string(sequence);
}

void refuse_variable(const VarState* var, std::uint64_t engine_id, std::string_view call,
                     std::string_view place) {
  std::string message = "[" + std::string(call) + "] ";
  if (!place.empty()) message += std::string(place) + ": ";
  if (var == nullptr) {
    message += "empty variable: expected one made by Engine::new_variable";
  } else if (var->engine_id != engine_id) {
    message += "variable '" + var->name + "' belongs to another engine, or to one that is gone";
  } else {
    message += "variable '" + var->name + "' was deleted";
  }
  throw std::invalid_argument(message);
}

void refuse_variables(VarList mutates, VarList reads, std::uint64_t engine_id,
                      std::string_view call, std::string_view operation) {
  const auto refuse_of = [&](VarList list, const char* name) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (is_usable(list[i], engine_id)) continue;
      std::string place = std::string(name) + "[" + std::to_string(i) + "]";
      if (!operation.empty()) place += " of '" + std::string(operation) + "'";
      refuse_variable(list[i], engine_id, call, place);
    }
  };
  refuse_of(mutates, "mutates");
  refuse_of(reads, "reads");
  std::terminate();  // one of them is not usable
}

}  // namespace detail

const std::string& Var::name() const {
  static const std::string none;
  return state_ != nullptr ? state_->name : none;
}

}  // namespace heddle
