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
  if (pending_.front() != 0) return;
  while (pending_.size() > 1 && pending_.front() == 0) {
    pending_.pop_front();
    ++first_;
  }
  wake(first_, Waiter::State::kDone);
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
  if (pending_.size() == 1 && pending_.front() == 0) return false;
  waiter.generation = newest();
  pending_.push_back(0);
  waiter.next = std::exchange(waiters_, &waiter);
  announce();
  return true;
}

void Generations::stop() { wake(kNone, Waiter::State::kStopped); }

}  // namespace heddle::detail
