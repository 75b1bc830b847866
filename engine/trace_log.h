#pragma once

#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/trace.h"

#include "engine/base/sync.h"
#include "engine/model_op.h"

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
  /// `modelled` is the same operation; what did not run costs nothing, whatever it says.
  void add(OpRecord record, ModelOp modelled) {
    if (record.outcome == Outcome::kSkipped || record.outcome == Outcome::kCancelled) {
      modelled.cost.clear_work();
    }
    const std::lock_guard lock(mutex_);
    if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
    blocks_.back().push_back({std::move(record), std::move(modelled)});
  }
  void add(const ModelWait& wait) {
    const std::lock_guard lock(mutex_);
    waits_.push_back(wait);
  }
  /// In the order in which they were added, with their times on the model clock.
  std::vector<OpRecord> records() const;

 private:
  struct Entry {
    OpRecord record;
    ModelOp modelled;
  };
  static constexpr std::size_t kBlock = 1024;

  const bool enabled_;
  mutable base::Mutex mutex_;
  std::vector<std::vector<Entry>> blocks_;  ///< all full but the last; no entry is ever moved
  std::vector<ModelWait> waits_;
};

}  // namespace heddle::detail
