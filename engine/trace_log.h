#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/trace.h"

#include "engine/base/sync.h"

namespace heddle::detail {

/// Nanoseconds of base::Clock.
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
    if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
    blocks_.back().push_back(std::move(record));
  }
  std::vector<OpRecord> records() const {
    const std::lock_guard lock(mutex_);
    std::vector<OpRecord> records;
    records.reserve(blocks_.size() * kBlock);
    for (const std::vector<OpRecord>& block : blocks_) {
      records.insert(records.end(), block.begin(), block.end());
    }
    return records;
  }

 private:
  static constexpr std::size_t kBlock = 1024;

  const bool enabled_;
  mutable base::Mutex mutex_;
  std::vector<std::vector<OpRecord>> blocks_;  ///< all full but the last; no record is ever moved
};

}  // namespace heddle::detail
