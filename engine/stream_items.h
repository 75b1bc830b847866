#pragma once

#include <cstddef>
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

/// Those of a queue, used again and again.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants: there are as many as reserve() was called, each in free_ or made and not ended.
class StreamItems {
 public:
  /// One more may be there at a time. Throws std::bad_alloc.
  void reserve() {
    auto item = std::make_unique<StreamItem>();
    const std::lock_guard lock(mutex_);
    free_.reserve(count_ + 1);
    free_.push_back(std::move(item));
    ++count_;
  }
  StreamItem& make(const device::Work& work) noexcept {
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
    free_.emplace_back(&item);  // there is room
    return work;
  }

 private:
  std::unique_ptr<StreamItem> take() {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<StreamItem> item = std::move(free_.back());
    free_.pop_back();
    return item;
  }

  alignas(64) base::SpinLock mutex_;
  // Guarded by it:
  std::vector<std::unique_ptr<StreamItem>> free_;
  std::size_t count_ = 0;
};

}  // namespace heddle::detail
