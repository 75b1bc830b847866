#include "engine/pending_limit.h"

#include <algorithm>

namespace heddle::detail {
namespace {

constexpr std::chrono::milliseconds kLookAgain{1};

[[noreturn]] void throw_stopped() { throw EngineStopped("the engine was shut down"); }

}  // namespace

PendingLimit::PendingLimit(std::size_t limit)
    : limit_(limit),
      low_water_(limit - std::max<std::size_t>(1, limit / 8)),
      most_apart_(std::min<std::size_t>(32, limit / 256)) {}

void PendingLimit::take_off(std::size_t count) {
  const std::size_t left = pending_.fetch_sub(count) - count;
  if (watchers_.load() == 0) return;
  if ((left <= low_water_ && blocked_.load() != 0) || (left == 0 && draining_.load())) {
    const std::lock_guard lock(mutex_);
    room_.notify_all();
    empty_.notify_all();
  }
}

std::size_t PendingLimit::collect() {
  for (Released& group : released_) {
    if (group.count.load() == 0) continue;
    if (const std::size_t count = group.count.exchange(0)) pending_.fetch_sub(count);
  }
  return pending_.load();
}

bool PendingLimit::try_acquire() {
  std::size_t pending = pending_.load();
  if (pending >= limit_) pending = collect();
  while (pending < limit_) {
    if (pending_.compare_exchange_weak(pending, pending + 1)) return true;
  }
  return false;
}

bool PendingLimit::acquire(AdmissionMode mode) {
  if (mode == AdmissionMode::kForce) {
    pending_.fetch_add(1);
    return true;
  }
  if (stopped_.load()) throw_stopped();
  if (blocked_.load() == 0 && try_acquire()) {
    give_back_if_stopped();
    return true;
  }
  if (mode == AdmissionMode::kTry) return false;
  acquire_blocking();
  return true;
}

void PendingLimit::acquire_blocking() {
  std::unique_lock lock(mutex_);
  const char place = 0;
  line_.push_back(&place);
  blocked_.fetch_add(1);
  watchers_.fetch_add(1);
  const auto leave = [&] {
    line_.erase(std::find(line_.begin(), line_.end(), &place));
    watchers_.fetch_sub(1);
    blocked_.fetch_sub(1);
    room_.notify_all();
  };
  while (line_.front() != &place || !try_acquire()) {
    room_.wait_for(lock, kLookAgain);
    if (stopped_.load()) {
      leave();
      throw_stopped();
    }
  }
  leave();
  lock.unlock();
  give_back_if_stopped();
}

/// stop() may have come, and found nothing pending, since the caller looked.
void PendingLimit::give_back_if_stopped() {
  if (!stopped_.load()) return;
  release();
  throw_stopped();
}

std::size_t PendingLimit::pending() {
  const std::size_t left = collect();
  if (left == 0 && draining_.load()) {
    const std::lock_guard lock(mutex_);
    empty_.notify_all();
  }
  return left;
}

void PendingLimit::release() {
  if (most_apart_ == 0) return take_off(1);
  std::atomic<std::size_t>& apart = released_[base::thread_group()].count;
  const std::size_t count = apart.fetch_add(1) + 1;
  if (count < most_apart_ && watchers_.load() == 0) return;
  if (const std::size_t taken = apart.exchange(0)) take_off(taken);
}

void PendingLimit::stop() {
  stopped_.store(true);
  const std::lock_guard lock(mutex_);
  room_.notify_all();
}

bool PendingLimit::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!draining_.exchange(true)) watchers_.fetch_add(1);
  const auto is_empty = [this] { return collect() == 0; };
  bool empty = true;
  if (deadline == std::chrono::steady_clock::time_point::max()) {
    empty_.wait(lock, is_empty);
  } else {
    empty = empty_.wait_until(lock, deadline, is_empty);
  }
  if (empty) empty_.notify_all();  // who collected the last count tells the others
  return empty;
}

}  // namespace heddle::detail
