#include "engine/generations.h"

#include <algorithm>
#include <utility>

namespace heddle::detail {

void Generations::announce() {
  std::uint64_t oldest = kNone;
  for (const Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->next) {
    oldest = std::min(oldest, waiter->generation);
  }
  first_uncovered_.store(oldest == kNone ? kNone : oldest + 1);
}

void Generations::drop_empty() {
  if (closed_.empty()) return;
  const auto pending = std::find_if(closed_.begin(), closed_.end(),
                                    [](std::size_t operations) { return operations != 0; });
  oldest_ += static_cast<std::uint64_t>(pending - closed_.begin());
  closed_.erase(closed_.begin(), pending);
  wake(oldest_, Waiter::State::kDone);
}

void Generations::wake(std::uint64_t below, Waiter::State state) {
  for (Waiter** link = &waiters_; *link != nullptr;) {
    Waiter& waiter = **link;
    if (waiter.generation < below) {
      *link = waiter.next;
      waiter.wake(state);
    } else {
      link = &waiter.next;
    }
  }
  announce();
}

bool Generations::begin_wait(Waiter& waiter) {
  if (closed_.empty() && newest_pending_ == 0) return false;
  closed_.push_back(newest_pending_);  // may throw
  newest_pending_ = 0;
  waiter.generation = newest_++;
  waiter.next = std::exchange(waiters_, &waiter);
  announce();
  return true;
}

void Generations::stop() { wake(kNone, Waiter::State::kStopped); }

}  // namespace heddle::detail
