#include "tests/support/watchdog.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace heddle::support::watchdog {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLimit(60);

class Timer {
 public:
  /// The thread runs then: one that only starts may hold a lock that a child of fork() needs.
  Timer() : thread_([this] { run(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_begun_; });
  }
  ~Timer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void arm(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    armed_ = true;
    deadline_ = Clock::now() + kLimit;
    changed_.notify_all();
  }
  void extend() {
    const std::lock_guard lock(mutex_);
    deadline_ = Clock::now() + kLimit;
  }
  void disarm() {
    const std::lock_guard lock(mutex_);
    armed_ = false;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    has_begun_ = true;
    changed_.notify_all();
    while (!ending_) {
      if (!armed_) {
        changed_.wait(lock);
        continue;
      }
      changed_.wait_until(lock, Clock::time_point(deadline_));
      if (armed_ && !ending_ && Clock::now() >= deadline_) {
        std::fprintf(stderr, "watchdog: nothing happened for 60 s in \"%s\"\n", what_.c_str());
        lock.unlock();  // a handler of this signal may report the end of the test case
        std::abort();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  Clock::time_point deadline_;
  bool has_begun_ = false;
  bool armed_ = false;
  bool ending_ = false;
  std::thread thread_;  // last: it uses the others
};

Timer& timer() {
  static Timer timer;
  return timer;
}

}  // namespace

void start(const std::string& what) { timer().arm(what); }
void progress() { timer().extend(); }
void stop() { timer().disarm(); }

}  // namespace heddle::support::watchdog
