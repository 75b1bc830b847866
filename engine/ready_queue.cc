#include "engine/ready_queue.h"

namespace heddle::detail {
namespace {

bool came_before(const ReadyNode& a, const ReadyNode& b) {
  return static_cast<std::int32_t>(a.arrival - b.arrival) < 0;
}

}  // namespace

void ReadyQueue::place(ReadyNode& node, std::size_t index) {
  heap_[index] = &node;
  node.heap_index = static_cast<std::uint32_t>(index);
}

void ReadyQueue::sift_up(ReadyNode& node, std::size_t index) {
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!goes_before(node, *heap_[parent])) break;
    place(*heap_[parent], index);
    index = parent;
  }
  place(node, index);
}

void ReadyQueue::sift_down(ReadyNode& node, std::size_t index) {
  for (std::size_t child = 2 * index + 1; child < heap_.size(); child = 2 * index + 1) {
    if (child + 1 < heap_.size() && goes_before(*heap_[child + 1], *heap_[child])) ++child;
    if (!goes_before(*heap_[child], node)) break;
    place(*heap_[child], index);
    index = child;
  }
  place(node, index);
}

void ReadyQueue::push(ReadyNode& node) {
  node.arrival = arrived_++;
  if (last_in_line_ != nullptr && goes_before(node, *last_in_line_)) {
    push_early(node);
  } else {
    node.newer = nullptr;
    (last_in_line_ != nullptr ? last_in_line_->newer : first_in_line_) = &node;
    last_in_line_ = &node;
  }
  ++size_;
}

void ReadyQueue::put_back(ReadyNode& node) {
  push_early(node);
  ++size_;
  --popped_;
}

/// Keeps the order of arrival, from which only what is put back differs, and that by little.
void ReadyQueue::push_early(ReadyNode& node) {
  heap_.push_back(&node);
  sift_up(node, heap_.size() - 1);
  ReadyNode* older = early_newest_;
  while (older != nullptr && came_before(node, *older)) older = older->older;
  node.older = older;
  node.newer = older != nullptr ? older->newer : early_oldest_;
  (older != nullptr ? older->newer : early_oldest_) = &node;
  (node.newer != nullptr ? node.newer->older : early_newest_) = &node;
}

void ReadyQueue::take_early(ReadyNode& node) {
  (node.older != nullptr ? node.older->newer : early_oldest_) = node.newer;
  (node.newer != nullptr ? node.newer->older : early_newest_) = node.older;

  ReadyNode& last = *heap_.back();
  heap_.pop_back();
  if (&last == &node) return;
  const std::size_t hole = node.heap_index;
  if (hole > 0 && goes_before(last, *heap_[(hole - 1) / 2])) {
    sift_up(last, hole);
  } else {
    sift_down(last, hole);
  }
}

ReadyNode& ReadyQueue::take_first_in_line() {
  ReadyNode& node = *first_in_line_;
  first_in_line_ = node.newer;
  if (first_in_line_ == nullptr) last_in_line_ = nullptr;
  return node;
}

ReadyNode* ReadyQueue::pop() {
  if (size_ == 0) return nullptr;
  --size_;
  const std::uint32_t popped = popped_++;
  if (heap_.empty()) return &take_first_in_line();
  const bool line_is_older =
      first_in_line_ != nullptr && came_before(*first_in_line_, *early_oldest_);
  const std::uint32_t oldest = line_is_older ? first_in_line_->arrival : early_oldest_->arrival;
  if (popped - oldest >= kPatience) {
    if (line_is_older) return &take_first_in_line();
    ReadyNode& node = *early_oldest_;
    take_early(node);
    return &node;
  }
  ReadyNode& early = *heap_.front();
  if (first_in_line_ != nullptr && goes_before(*first_in_line_, early)) {
    return &take_first_in_line();
  }
  take_early(early);
  return &early;
}

}  // namespace heddle::detail
