#include "engine/ready_queue.h"

namespace heddle::detail {

void ReadyQueue::place(ReadyNode& node, std::size_t index) {
  heap_[index] = &node;
  node.heap_index = index;
}

void ReadyQueue::sift_up(ReadyNode& node, std::size_t index) {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!before(node, *heap_[parent])) break;
    place(*heap_[parent], index);
    index = parent;
  }
  place(node, index);
}

void ReadyQueue::sift_down(ReadyNode& node, std::size_t index) {
  for (std::size_t child = 2 * index + 1; child < heap_.size(); child = 2 * index + 1) {
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], node)) break;
    place(*heap_[child], index);
    index = child;
  }
  place(node, index);
}

void ReadyQueue::push(ReadyNode& node) {
  heap_.push_back(&node);
  sift_up(node, heap_.size() - 1);
  node.arrival = arrived_++;
  node.older = newest_;
  node.newer = nullptr;
  (newest_ != nullptr ? newest_->newer : oldest_) = &node;
  newest_ = &node;
}

ReadyNode* ReadyQueue::pop() {
  if (heap_.empty()) return nullptr;
  ReadyNode& node = popped_ - oldest_->arrival >= kPatience ? *oldest_ : *heap_.front();
  ++popped_;

  (node.older != nullptr ? node.older->newer : oldest_) = node.newer;
  (node.newer != nullptr ? node.newer->older : newest_) = node.older;

  ReadyNode& last = *heap_.back();
  heap_.pop_back();
  if (&last != &node) {
    const std::size_t hole = node.heap_index;
    if (hole > 0 && before(last, *heap_[(hole - 1) / 2])) {
      sift_up(last, hole);
    } else {
      sift_down(last, hole);
    }
  }
  return &node;
}

}  // namespace heddle::detail
