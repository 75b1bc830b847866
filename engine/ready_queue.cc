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
  const bool is_oldest = !early_.empty() && place.arrival < early_.front().arrival;
  if (is_oldest) drop_all_stale();
  try {
    heap_.push_back(
        {place.sequence, is_oldest ? early_.begin() - 1 : early_.end(), place.priority});
  } catch (const std::bad_alloc&) {
    return false;
  }
  const Early early = {place.node, place.arrival};
  if (!(is_oldest ? early_.push_front(early) : early_.push_back(early))) {
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
    if (!add(ReadyPlace::of(node, arrived_))) return;
    ++arrived_;
    first_spilled_ = node.newer;
  }
  last_spilled_ = nullptr;
}

std::size_t ReadyQueue::patience_left() {
  count_overtakers();
  if (first_spilled_ != nullptr) return 0;
  std::uint64_t oldest = arrived_;
  if (!line_.empty()) oldest = line_.front().arrival;
  if (!early_.empty()) oldest = std::min(oldest, early_.front().arrival);
  const std::uint64_t passed = popped_ - std::min(popped_, oldest);
  return size_ != 0 && passed < kPatience ? kPatience - passed : 0;
}

void ReadyQueue::push(ReadyNode& node) noexcept {
  ++size_;
  change();
  count_overtakers();
  if (first_spilled_ == nullptr && add(ReadyPlace::of(node, arrived_))) {
    ++arrived_;
  } else {
    spill(node);
  }
}

void ReadyQueue::put_back(const ReadyPlace& place) noexcept {
  ++size_;
  change();
  count_overtakers();
  --popped_;
  const bool is_first =
      line_.empty() || (goes_before(place, line_.front()) && place.arrival < line_.front().arrival);
  if (is_first ? line_.push_front(place) : add_early(place)) return;
  ++popped_;  // it arrives anew
  spill(*place.node);
}

inline ReadyPlace ReadyQueue::pop_line() noexcept {
  const ReadyPlace place = line_.pop_front();
  drop_raised();
  return place;
}

inline void ReadyQueue::drop_raised() noexcept {
  while (!line_.empty() && line_.front().node == nullptr) line_.pop_front();
}

inline void ReadyQueue::left_early() noexcept {
  while (!early_.empty() && early_.front().node == nullptr) early_.pop_front();
  --early_count_;
  if (heap_.size() != early_count_) drop_stale();
}

void ReadyQueue::drop_all_stale() noexcept {
  if (heap_.size() == early_count_) return;
  std::erase_if(heap_, [this](const HeapEntry& entry) { return is_stale(entry); });
  std::make_heap(heap_.begin(), heap_.end(), kGoesAfter);
}

void ReadyQueue::drop_stale() noexcept {
  if (heap_.size() > 2 * early_count_ + kFewStale) drop_all_stale();
  while (!heap_.empty() && is_stale(heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), kGoesAfter);
    heap_.pop_back();
  }
}

ReadyPlace* ReadyQueue::find_in_line(const ReadyPlace& place) noexcept {
  std::uint64_t begin = line_.begin();
  for (std::uint64_t end = line_.end(); begin != end;) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (goes_before(line_[middle], place)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  for (; begin != line_.end() && !goes_before(place, line_[begin]); ++begin) {
    if (line_[begin].node == place.node) return &line_[begin];
  }
  return nullptr;
}

bool ReadyQueue::raise(ReadyNode& node, int from, int to) noexcept {
  change();
  if (ReadyPlace* const found = find_in_line({&node, node.sequence, 0, from})) {
    if (!add_early({&node, node.sequence, found->arrival, to})) return false;
    found->node = nullptr;
    drop_raised();
    return true;
  }
  const auto entry = std::find_if(heap_.begin(), heap_.end(), [&](const HeapEntry& each) {
    return each.sequence == node.sequence && each.number >= early_.begin() &&
           early_[each.number].node == &node;
  });
  if (entry == heap_.end()) return false;
  entry->priority = to;
  std::push_heap(heap_.begin(), entry + 1, kGoesAfter);
  return true;
}

ReadyPlace ReadyQueue::take_overdue(bool from_line) noexcept {
  if (from_line) return pop_line();
  const Early oldest = early_.pop_front();
  left_early();
  return ReadyPlace::of(*oldest.node, oldest.arrival);
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
  return ReadyPlace::of(node, arrived_++);
}

ReadyPlace ReadyQueue::first() const noexcept {
  if (heap_.empty()) return line_.empty() ? ReadyPlace{} : line_.front();
  const HeapEntry& early = heap_.front();
  if (!line_.empty() && goes_before(line_.front(), early)) return line_.front();
  const Early& place = early_[early.number];
  return {place.node, early.sequence, place.arrival, early.priority};
}

ReadyPlace ReadyQueue::take() noexcept {
  count_overtakers();
  if (first_spilled_ != nullptr) add_spilled();
  if (size_ == 0) return {};
  --size_;
  if (line_.empty() && early_.empty()) return take_spilled();
  const std::uint64_t popped = popped_++;
  if (early_.empty()) return pop_line();
  const bool line_is_older = !line_.empty() && line_.front().arrival < early_.front().arrival;
  const std::uint64_t oldest = line_is_older ? line_.front().arrival : early_.front().arrival;
  if (popped >= oldest + kPatience) return take_overdue(line_is_older);
  if (!line_.empty() && goes_before(line_.front(), heap_.front())) return pop_line();
  return take_first_early();
}

}  // namespace heddle::detail
