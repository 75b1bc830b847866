#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/device/backend.h"
#include "engine/ready_node.h"

namespace heddle::detail {

/// A piece of a stream's work among the operations of a queue.
struct StreamItem : ReadyNode {
  device::Work work;
};

/// Makes them, and uses them again.
///
/// Thread safety: every member may be called from any thread.
class StreamItems {
 public:
  StreamItem& make(const device::Work& work) {
    StreamItem& item = *take().release();
    item.type = ReadyNode::Type::kWork;
    item.set_priority(work.priority);
    item.sequence = work.sequence;
    item.work = work;
    return item;
  }
  /// Its work; the item is gone.
  device::Work end(StreamItem& item) {
    const device::Work work = item.work;
    const std::lock_guard lock(mutex_);
    free_.emplace_back(&item);
    return work;
  }

 private:
  std::unique_ptr<StreamItem> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<StreamItem>();
    std::unique_ptr<StreamItem> item = std::move(free_.back());
    free_.pop_back();
    return item;
  }

  alignas(64) base::SpinLock mutex_;
  std::vector<std::unique_ptr<StreamItem>> free_;  ///< guarded by it
};

}  // namespace heddle::detail
