#include "heddle/cancel.h"

#include <cstdint>

#include "engine/base/sync.h"

namespace heddle {
namespace detail {

/// What the handles of a group share. Who sees `cancelled` sees what was written before cancel().
struct CancelState {
  base::Atomic<std::uint32_t> references{1};
  base::Atomic<bool> cancelled{false};
};

void retain(CancelState& state) noexcept {
  state.references.fetch_add(1, std::memory_order_relaxed);
}

void release(CancelState& state) noexcept {
  // The last one must see what the others did with the state before.
  if (state.references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete &state;
}

bool is_cancelled(const CancelState& state) noexcept {
  return state.cancelled.load(std::memory_order_acquire);
}

}  // namespace detail

CancelSource::CancelSource() : token_(new detail::CancelState) {}

void CancelSource::cancel() noexcept {
  token_.state_->cancelled.store(true, std::memory_order_release);
}

}  // namespace heddle
