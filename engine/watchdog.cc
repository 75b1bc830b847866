#include "engine/watchdog.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <sstream>
#include <utility>

#include "engine/base/thread.h"

namespace heddle::detail {
namespace {

/// Looks per limit: a stall is noticed up to a limit / kLooks late.
constexpr int kLooks = 8;

}  // namespace

Watchdog::Watchdog(std::chrono::milliseconds limit, Look look, Describe describe)
    : limit_(limit), look_(std::move(look)), describe_(std::move(describe)) {}

void Watchdog::start() {
  if (limit_.count() == 0 || thread_.joinable()) return;
  thread_ = base::start_thread("hdl-watchdog", [this] { watch(); });
}

void Watchdog::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopping_changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::write(std::chrono::nanoseconds time, std::size_t pending,
                     const std::string& described) {
  std::ostringstream text;
  text << "heddle: nothing has ended for " << std::chrono::duration<double>(time).count()
       << " s, and " << pending << (pending == 1 ? " operation is" : " operations are")
       << " pending:\n"
       << described;
  std::fputs(text.str().c_str(), stderr);
}

void Watchdog::watch() {
  using Clock = base::Clock;
  const auto pause = std::max(limit_ / kLooks, std::chrono::milliseconds(1));
  std::uint64_t ended = 0;
  Clock::time_point last_end = Clock::now();
  bool reported = false;
  std::unique_lock lock(mutex_);
  while (!stopping_changed_.wait_for(lock, pause, [this] { return stopping_; })) {
    lock.unlock();
    try {
      const Progress progress = look_();
      const Clock::time_point now = Clock::now();
      if (progress.ended != ended || progress.pending == 0) {
        ended = progress.ended;
        last_end = now;
        reported = false;
      } else if (!reported && now - last_end >= limit_) {
        write(now - last_end, progress.pending, describe_());
        reported = true;
      }
    } catch (const std::bad_alloc&) {  // there may be memory at the next look
    }
    lock.lock();
  }
}

}  // namespace heddle::detail
