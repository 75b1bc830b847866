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

/// A thread's place among the blocked pushers, which it leaves by an exception, too, and when it is
/// cancelled. Takes the lock and gives it back.
class PendingLimit::InLine {
 public:
  InLine(PendingLimit& limit, std::unique_lock<base::Mutex>& lock) : limit_(limit), lock_(lock) {
    limit_.line_.push_back(this);
    limit_.blocked_.fetch_add(1);
  }
  ~InLine() {
    if (!lock_.owns_lock()) lock_.lock();
    limit_.line_.erase(std::find(limit_.line_.begin(), limit_.line_.end(), this));
    limit_.blocked_.fetch_sub(1);
    ++limit_.events_;
    lock_.unlock();
    limit_.told_.notify_all();
  }
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;

  bool is_first() const { return limit_.line_.front() == this; }

 private:
  PendingLimit& limit_;
  std::unique_lock<base::Mutex>& lock_;
};

bool PendingLimit::wait_for_room(const std::function<bool()>& try_take) {
  std::unique_lock lock(mutex_);
  const InLine place(*this, lock);
  while (!stopped_.load()) {
    const std::uint64_t seen = events_;
    if (place.is_first()) {
      lock.unlock();
      if (try_take()) return true;
      lock.lock();
    }
    told_.wait_for(lock, kLookAgain, [&] { return events_ != seen || stopped_.load(); });
  }
  return false;
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
