#include "engine/generations.h"

#include <utility>

namespace heddle::detail {
namespace {

std::uint64_t missing(const Generation& generation) {
  const std::uint64_t ended = generation.ended.sum();
  return generation.added.load() - ended;
}

}  // namespace

Generations::Generations() { open(); }

void Generations::open() {
  std::unique_ptr<Generation> generation;
  if (unused_.empty()) {
    generation = std::make_unique<Generation>();
  } else {
    generation = std::move(unused_.back());
    unused_.pop_back();
    generation->added.store(0);
    generation->ended.reset();
    generation->late.store(0);
    generation->look_at.store(std::numeric_limits<std::uint64_t>::max());
  }
  generation->number = opened_++;
  newest_ = generation.get();
  open_.push_back(std::move(generation));
}

void Generations::drop_empty() {
  while (open_.size() > 1 && missing(*open_.front()) == 0) {
    unused_.push_back(std::move(open_.front()));
    open_.pop_front();
  }
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
}

bool Generations::begin_wait(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiting_.fetch_add(1);
  drop_empty();
  if (open_.size() == 1 && missing(*newest_) == 0) {
    waiting_.fetch_sub(1);
    return false;
  }
  waiter.generation = newest_->number;
  open();
  waiter.next = std::exchange(waiters_, &waiter);
  look_locked();
  return true;
}

void Generations::end_wait() {
  const std::lock_guard lock(mutex_);  // wake() does not touch the waiter any more
  waiting_.fetch_sub(1);
}

void Generations::stop() {
  const std::lock_guard lock(mutex_);
  wake(std::numeric_limits<std::uint64_t>::max(), Waiter::State::kStopped);
}

void Generations::look() {
  const std::lock_guard lock(mutex_);
  look_locked();
}

void Generations::look_locked() {
  bool again = true;
  while (again) {
    drop_empty();
    wake(open_.front()->number, Waiter::State::kDone);
    if (waiters_ == nullptr) return;
    again = false;
    for (const auto& generation : open_) {
      if (generation.get() == newest_) break;
      const std::uint64_t late = generation->late.load();
      const std::uint64_t left = missing(*generation);
      if (left == 0) {
        again = again || generation == open_.front();
        continue;
      }
      generation->look_at.store(late + left);
      again = again || generation->late.load() >= late + left;
    }
  }
}

}  // namespace heddle::detail
