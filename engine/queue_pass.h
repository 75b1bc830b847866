#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/graph_item.h"
#include "engine/graph_run.h"
#include "engine/ready_queue.h"

namespace heddle::detail {

/// Lets a worker that goes on with a run pass by what waits in the queue, as long as all of that
/// goes after the run, without a look at it for each operation.
///
/// Thread safety: its worker's own.
///
/// Invariant: while nothing has come since note(), what the queue has goes after the run's
/// operations, as these have numbers in a row and one priority; but for the patience of what waits,
/// of which the queue knows what is left, for what is only lent a priority, and for another item of
/// the same run, which waits until a worker that is free takes it: where there are several their
/// operations have no order.
class QueuePass {
 public:
  /// The worker goes on with a run of which `item` is next. With the queue's lock.
  void note(ReadyQueue& queue, GraphItem& item, std::size_t workers) {
    const ReadyPlace first = queue.first();
    const bool is_first = first.node != nullptr && !item.run->is_lent(item) &&
                          goes_before(ReadyPlace::of(item), first);
    queue_ = &queue;
    seen_ = queue.changes();
    left_ = is_first ? queue.patience_left() / workers : 0;
  }
  /// Whether its next operation goes before what the queue has, as far as is known without a look.
  bool goes_first() const { return left_ != 0 && queue_->changes() == seen_; }
  /// Another one is going to run.
  void use() {
    if (left_ == 0) return;  // there was nothing in the queue
    --left_;
    queue_->overtake();
  }

 private:
  ReadyQueue* queue_ = nullptr;
  std::uint32_t seen_ = 0;
  std::size_t left_ = 0;
};

}  // namespace heddle::detail
