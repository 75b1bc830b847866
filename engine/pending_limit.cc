#include "engine/pending_limit.h"

#include <algorithm>

namespace heddle::detail {
namespace {

/// Each look may take a CPU from a worker.
constexpr std::chrono::milliseconds kLookAgain{3};

}  // namespace

PendingLimit::PendingLimit(std::size_t limit)
    : limit_(limit), low_water_(limit - std::max<std::size_t>(1, limit / 8)) {}

void PendingLimit::tell() {
  {
    const std::lock_guard lock(mutex_);
    ++events_;
  }
  told_.notify_all();
}

bool PendingLimit::wait_for_room(const std::function<bool()>& try_take) {
  std::unique_lock lock(mutex_);
  const char place = 0;
  line_.push_back(&place);
  blocked_.fetch_add(1);
  bool taken = false;
  while (!taken && !stopped_.load()) {
    const std::uint64_t seen = events_;
    if (line_.front() == &place) {
      lock.unlock();
      taken = try_take();
      lock.lock();
      if (taken) break;
    }
    told_.wait_for(lock, kLookAgain, [&] { return events_ != seen || stopped_.load(); });
  }
  line_.erase(std::find(line_.begin(), line_.end(), &place));
  blocked_.fetch_sub(1);
  ++events_;
  lock.unlock();
  told_.notify_all();
  return taken;
}

void PendingLimit::stop() {
  stopped_.store(true);
  tell();
}

bool PendingLimit::wait_until_empty(base::Clock::time_point deadline,
                                    const std::function<std::size_t()>& pending) {
  draining_.store(true);
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::uint64_t seen = events_;
    lock.unlock();
    if (pending() == 0) return true;
    lock.lock();
    const auto told = [&] { return events_ != seen; };
    if (deadline == base::Clock::time_point::max()) {
      told_.wait(lock, told);
    } else if (!told_.wait_until(lock, deadline, told)) {
      return false;
    }
  }
}

}  // namespace heddle::detail
