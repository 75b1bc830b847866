#include "engine/device/deferred_call.h"

namespace heddle::device {
namespace {

/// Of the outermost Deferral; null if there is none.
constinit thread_local DeferredCalls* t_calls = nullptr;

}  // namespace

DeferredCalls* deferred_calls() noexcept { return t_calls; }

Deferral::Deferral() noexcept {
  if (t_calls == nullptr) t_calls = &calls_;
}

Deferral::~Deferral() {
  if (t_calls != &calls_) return;
  while (!calls_.empty()) {
    make_some(calls_, [] { return true; });
    if (!calls_.empty()) leave_deferred_calls();
  }
  t_calls = nullptr;
}

}  // namespace heddle::device
