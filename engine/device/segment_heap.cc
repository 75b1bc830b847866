#include "engine/device/segment_heap.h"

#include <bit>
#include <iterator>
#include <new>

namespace heddle::device {
namespace {

/// Blocks of a class that are compared.
constexpr int kLooks = 16;

}  // namespace

std::byte* SegmentHeap::take(std::size_t size, std::size_t most) noexcept {
  Block* block = kept_[size_class(size)];
  if (block == nullptr || block->size != size) block = find(size, most);
  if (block == nullptr && has_kept_) {
    free_kept();
    block = find(size, most);
  }
  if (block == nullptr) return nullptr;
  remove(*block);
  cut(*block, size);
  block->state = State::kLive;
  if (block->owner->live_blocks++ == 0) busy_.splice(busy_.end(), idle_, block->owner);
  live_bytes_ += block->size;
  return block->begin;
}

/// A free block that is hardly larger than others, and low: so that what is high may become idle.
SegmentHeap::Block* SegmentHeap::find(std::size_t size, std::size_t most) const noexcept {
  const std::size_t number = first_free_class(size_class(size));
  if (number == kSizeClasses) return nullptr;
  Block* lowest = free_[number];
  int looks = kLooks;
  for (Block* block = lowest->older; block != nullptr && --looks > 0; block = block->older) {
    if (block->begin < lowest->begin) lowest = block;
  }
  return lowest->size <= most ? lowest : nullptr;
}

/// kSizeClasses if there is none from `least` on.
std::size_t SegmentHeap::first_free_class(std::size_t least) const noexcept {
  std::size_t word = least / 64;
  std::uint64_t bits = has_free_[word] >> least % 64 << least % 64;
  while (bits == 0) {
    if (++word == has_free_.size()) return kSizeClasses;
    bits = has_free_[word];
  }
  return 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
}

bool SegmentHeap::give_back(const std::byte* begin) noexcept {
  const auto found = blocks_.find(begin);
  if (found == blocks_.end()) return false;
  Block& block = found->second;
  live_bytes_ -= block.size;
  put(block, State::kKept);
  has_kept_ = true;
  if (--block.owner->live_blocks == 0) idle_.splice(idle_.end(), busy_, block.owner);
  return true;
}

void SegmentHeap::add(Segment segment) {
  idle_.push_back({segment});
  try {
    Block& block = blocks_[segment.begin];
    block.begin = segment.begin;
    block.size = segment.bytes / kBlockAlignment * kBlockAlignment;
    block.owner = std::prev(idle_.end());
    put(block, State::kFree);
  } catch (const std::bad_alloc&) {
    idle_.pop_back();
    throw;
  }
  reserved_bytes_ += segment.bytes;
}

std::optional<Segment> SegmentHeap::remove_idle() noexcept {
  if (idle_.empty()) return std::nullopt;
  const Segment segment = idle_.front().segment;
  for (Block* block = &blocks_.find(segment.begin)->second; block != nullptr;) {
    Block* const after = block->after;
    remove(*block);
    blocks_.erase(block->begin);
    block = after;
  }
  idle_.pop_front();
  reserved_bytes_ -= segment.bytes;
  return segment;
}

void SegmentHeap::put(Block& block, State state) noexcept {
  const std::size_t number = size_class(block.size);
  Block*& newest = state == State::kKept ? kept_[number] : free_[number];
  block.state = state;
  block.newer = nullptr;
  block.older = newest;
  if (newest != nullptr) newest->newer = &block;
  newest = &block;
  if (state == State::kFree) has_free_[number / 64] |= std::uint64_t{1} << number % 64;
}

void SegmentHeap::remove(Block& block) noexcept {
  const std::size_t number = size_class(block.size);
  const bool is_free = block.state == State::kFree;
  Block*& newest = is_free ? free_[number] : kept_[number];
  (block.newer == nullptr ? newest : block.newer->older) = block.older;
  if (block.older != nullptr) block.older->newer = block.newer;
  if (is_free && newest == nullptr) {
    has_free_[number / 64] &= ~(std::uint64_t{1} << number % 64);
  }
}

/// Leaves `size` of a block that is in no list; what is beyond becomes a block of its own, unless
/// there is no memory to write it down.
void SegmentHeap::cut(Block& block, std::size_t size) noexcept {
  if (block.size == size) return;
  try {
    Block& rest = blocks_[block.begin + size];
    rest = {.begin = block.begin + size,
            .size = block.size - size,
            .before = &block,
            .after = block.after,
            .owner = block.owner};
    if (rest.after != nullptr) rest.after->before = &rest;
    block.after = &rest;
    block.size = size;
    put(rest, State::kFree);
  } catch (const std::bad_alloc&) {
    return;
  }
}

/// Joins a block that is in no list with its free neighbours.
void SegmentHeap::free(Block& block) noexcept {
  Block* joined = &block;
  if (block.before != nullptr && block.before->state == State::kFree) {
    joined = block.before;
    remove(*joined);
    absorb_next(*joined);
  }
  if (joined->after != nullptr && joined->after->state == State::kFree) {
    remove(*joined->after);
    absorb_next(*joined);
  }
  put(*joined, State::kFree);
}

void SegmentHeap::absorb_next(Block& block) noexcept {
  const Block& next = *block.after;
  block.size += next.size;
  block.after = next.after;
  if (block.after != nullptr) block.after->before = &block;
  blocks_.erase(next.begin);
}

void SegmentHeap::free_kept() noexcept {
  for (Block*& newest : kept_) {
    while (newest != nullptr) {
      Block& block = *newest;
      remove(block);
      free(block);
    }
  }
  has_kept_ = false;
}

}  // namespace heddle::device
