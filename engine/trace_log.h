#pragma once

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/trace.h"

namespace heddle::detail {

/// Nanoseconds of std::chrono::steady_clock.
std::int64_t now_ns();

/// The records of an engine's ended operations.
///
/// Thread safety: every member may be called from any thread.
class TraceLog {
 public:
  explicit TraceLog(bool enabled) : enabled_(enabled) {}
  bool enabled() const { return enabled_; }
  void add(OpRecord record) {
    const std::lock_guard lock(mutex_);
    records_.push_back(std::move(record));
  }
  std::vector<OpRecord> records() const {
    const std::lock_guard lock(mutex_);
    return {records_.begin(), records_.end()};
  }

 private:
  const bool enabled_;
  mutable std::mutex mutex_;
  std::deque<OpRecord> records_;  ///< grows without moving what is there
};

}  // namespace heddle::detail
