#include "engine/pending_limit.h"

#include <algorithm>

namespace heddle::detail {
namespace {

constexpr std::chrono::milliseconds kLookAgain{1};

[[noreturn]] void throw_stopped() { throw EngineStopped("the engine was shut down"); }

}  // namespace

PendingLimit::PendingLimit(std::size_t limit)
    : limit_(limit), low_water_(limit - std::max<std::size_t>(1, limit / 8)) {}

bool PendingLimit::try_acquire() {
  std::size_t pending = pending_.load();
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
  if (blocked_.load() == 0 && try_acquire()) return true;
  if (mode == AdmissionMode::kTry) return false;
  acquire_blocking();
  return true;
}

void PendingLimit::acquire_blocking() {
  std::unique_lock lock(mutex_);
  const char place = 0;
  line_.push_back(&place);
  blocked_.fetch_add(1);
  const auto leave = [&] {
    line_.erase(std::find(line_.begin(), line_.end(), &place));
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
}

void PendingLimit::release() {
  const std::size_t left = pending_.fetch_sub(1) - 1;
  if (left <= low_water_ && blocked_.load() != 0) {
    const std::lock_guard lock(mutex_);
    room_.notify_all();
  }
  if (left == 0 && draining_.load()) {
    const std::lock_guard lock(mutex_);
    empty_.notify_all();
  }
}

void PendingLimit::stop() {
  stopped_.store(true);
  const std::lock_guard lock(mutex_);
  room_.notify_all();
}

bool PendingLimit::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  draining_.store(true);
  const auto is_empty = [this] { return pending_.load() == 0; };
  if (deadline == std::chrono::steady_clock::time_point::max()) {
    empty_.wait(lock, is_empty);
    return true;
  }
  return empty_.wait_until(lock, deadline, is_empty);
}

}  // namespace heddle::detail
