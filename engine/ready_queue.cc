#include "engine/ready_queue.h"

#include <algorithm>
#include <new>
#include <utility>

namespace heddle::detail {
namespace {

/// What the algorithms for heaps take for "less".
constexpr auto kGoesAfter = [](const auto& a, const auto& b) { return goes_before(b, a); };

}  // namespace

bool ReadyQueue::add_early(const ReadyPlace& place) noexcept {
  try {
    heap_.push_back({place.sequence, early_.end(), place.priority});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!early_.push_back({place.node, place.arrival})) {
    heap_.pop_back();
    return false;
  }
  std::push_heap(heap_.begin(), heap_.end(), kGoesAfter);
  ++early_count_;
  return true;
}

inline bool ReadyQueue::add(const ReadyPlace& place) noexcept {
  if (line_.empty() || !goes_before(place, line_.back())) return line_.push_back(place);
  return add_early(place);
}

void ReadyQueue::spill(ReadyNode& node) noexcept {
  node.newer = nullptr;
  (last_spilled_ != nullptr ? last_spilled_->newer : first_spilled_) = &node;
  last_spilled_ = &node;
}

void ReadyQueue::add_spilled() noexcept {
  while (first_spilled_ != nullptr) {
    ReadyNode& node = *first_spilled_;
    if (!add({&node, node.sequence, arrived_, node.priority})) return;
    ++arrived_;
    first_spilled_ = node.newer;
  }
  last_spilled_ = nullptr;
}

void ReadyQueue::push(ReadyNode& node) noexcept {
  ++size_;
  if (first_spilled_ == nullptr && add({&node, node.sequence, arrived_, node.priority})) {
    ++arrived_;
  } else {
    spill(node);
  }
}

void ReadyQueue::put_back(const ReadyPlace& place) noexcept {
  ++size_;
  --popped_;
  const bool is_first =
      line_.empty() || (goes_before(place, line_.front()) && place.arrival < line_.front().arrival);
  if (is_first ? line_.push_front(place) : add_early(place)) return;
  ++popped_;  // it arrives anew
  spill(*place.node);
}

inline void ReadyQueue::left_early() noexcept {
  while (!early_.empty() && early_.front().node == nullptr) early_.pop_front();
  --early_count_;
  if (heap_.size() != early_count_) drop_stale();
}

void ReadyQueue::drop_stale() noexcept {
  const auto is_stale = [this](const HeapEntry& entry) { return entry.number < early_.begin(); };
  if (heap_.size() > 2 * early_count_ + kFewStale) {
    heap_.erase(std::remove_if(heap_.begin(), heap_.end(), is_stale), heap_.end());
    std::make_heap(heap_.begin(), heap_.end(), kGoesAfter);
  }
  while (!heap_.empty() && is_stale(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), kGoesAfter);
    heap_.pop_back();
  }
}

ReadyPlace ReadyQueue::take_overdue(bool from_line) noexcept {
  if (from_line) return line_.pop_front();
  const Early oldest = early_.pop_front();
  left_early();
  return {oldest.node, oldest.node->sequence, oldest.arrival, oldest.node->priority};
}

ReadyPlace ReadyQueue::take_first_early() noexcept {
  const HeapEntry entry = heap_.front();
  std::pop_heap(heap_.begin(), heap_.end(), kGoesAfter);
  heap_.pop_back();
  Early& early = early_[entry.number];
  const ReadyPlace place = {std::exchange(early.node, nullptr), entry.sequence, early.arrival,
                            entry.priority};
  left_early();
  return place;
}

/// There is no memory for even one place.
ReadyPlace ReadyQueue::take_spilled() noexcept {
  ReadyNode& node = *first_spilled_;
  first_spilled_ = node.newer;
  if (first_spilled_ == nullptr) last_spilled_ = nullptr;
  ++popped_;
  return {&node, node.sequence, arrived_++, node.priority};
}

ReadyPlace ReadyQueue::first() const noexcept {
  if (heap_.empty()) return line_.empty() ? ReadyPlace{} : line_.front();
  const HeapEntry& early = heap_.front();
  if (!line_.empty() && goes_before(line_.front(), early)) return line_.front();
  const Early& place = early_[early.number];
  return {place.node, early.sequence, place.arrival, early.priority};
}

ReadyPlace ReadyQueue::take() noexcept {
  if (first_spilled_ != nullptr) add_spilled();
  if (size_ == 0) return {};
  --size_;
  if (line_.empty() && early_.empty()) return take_spilled();
  const std::uint64_t popped = popped_++;
  if (early_.empty()) return line_.pop_front();
  const bool line_is_older = !line_.empty() && line_.front().arrival < early_.front().arrival;
  const std::uint64_t oldest = line_is_older ? line_.front().arrival : early_.front().arrival;
  if (popped >= oldest + kPatience) return take_overdue(line_is_older);
  if (!line_.empty() && goes_before(line_.front(), heap_.front())) return line_.pop_front();
  return take_first_early();
}

}  // namespace heddle::detail
