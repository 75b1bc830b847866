#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/sync.h"

namespace heddle::detail {

/// A thread that looks whether an engine gets on, and writes to standard error if it does not: once
/// when nothing has ended for a while although something is pending, and again only after
/// something has ended.
///
/// Thread safety: none but what the thread needs; start() and stop() are called by one thread.
class Watchdog {
 public:
  struct Progress {
    std::uint64_t ended = 0;
    std::size_t pending = 0;
  };
  using Look = std::function<Progress()>;
  /// What to write about what is pending.
  using Describe = std::function<std::string()>;

  /// `limit`: how long nothing may end; 0 means for ever, and there is no thread. The functions
  /// are called by the thread of the watchdog.
  Watchdog(std::chrono::milliseconds limit, Look look, Describe describe);
  ~Watchdog() { stop(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Throws std::system_error if there can be no thread.
  void start();
  void stop();

  /// What is written: nothing has ended for `time` although so many are `pending`; `described`.
  static void write(std::chrono::nanoseconds time, std::size_t pending,
                    const std::string& described);

 private:
  void watch();

  const std::chrono::milliseconds limit_;
  const Look look_;
  const Describe describe_;

  base::Mutex mutex_;
  base::ConditionVariable stopping_changed_;
  bool stopping_ = false;  ///< guarded by mutex_
  base::Thread thread_;
};

}  // namespace heddle::detail
