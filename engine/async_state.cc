#include "engine/async_state.h"

namespace heddle {
namespace detail {

void AsyncState::use(std::exception_ptr error) {
  switch (stage_.exchange(Stage::kUsed)) {
    case Stage::kOpen:
      complete(std::move(error));
      break;
    case Stage::kAbandoned:
      break;
    case Stage::kDropped:
    case Stage::kUsed:
      engine->report(failed(sequence, name, device, error_or_no_memory("completion used twice")));
      break;
  }
}

void AsyncState::drop() {
  if (in_forked_child(engine->process())) return;  // locks may be held that nobody will release
  Stage expected = Stage::kOpen;
  if (stage_.compare_exchange_strong(expected, Stage::kDropped)) {
    complete(error_or_no_memory("completion dropped"));
  }
}

AsyncState::Abandoned AsyncState::abandon() {
  Stage stage = Stage::kOpen;
  if (stage_.compare_exchange_strong(stage, Stage::kAbandoned)) return Abandoned::kOpen;
  return stage == Stage::kDropped ? Abandoned::kDropped : Abandoned::kUsed;
}

}  // namespace detail

Completion::Completion(std::shared_ptr<detail::AsyncState> state) noexcept
    : state_(std::move(state)) {}

Completion& Completion::operator=(Completion&& other) noexcept {
  if (this != &other) {
    if (state_ != nullptr) state_->drop();
    state_ = std::move(other.state_);
  }
  return *this;
}

Completion::~Completion() {
  if (state_ != nullptr) state_->drop();
}

void Completion::done() {
  if (state_ == nullptr) throw std::invalid_argument("[Completion::done] moved-from completion");
  detail::check_process(state_->engine->process(), "Completion::done");
  state_->use(nullptr);
}

void Completion::fail(std::exception_ptr error) {
  if (state_ == nullptr) throw std::invalid_argument("[Completion::fail] moved-from completion");
  detail::check_process(state_->engine->process(), "Completion::fail");
  if (error == nullptr) error = detail::error_or_no_memory("completion failed");
  state_->use(std::move(error));
}

}  // namespace heddle
