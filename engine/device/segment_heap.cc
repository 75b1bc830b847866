#include "engine/device/segment_heap.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

namespace heddle::device {
namespace {

/// Blocks of a class that are compared.
constexpr int kLooks = 16;

}  // namespace

void SegmentHeap::Lists::add(Block& block) noexcept {
  const std::size_t number = size_class(block.size);
  block.newer = nullptr;
  block.older = newest[number];
  if (block.older != nullptr) block.older->newer = &block;
  newest[number] = &block;
  filled[number / 64] |= std::uint64_t{1} << number % 64;
}

void SegmentHeap::Lists::remove(Block& block) noexcept {
  const std::size_t number = size_class(block.size);
  (block.newer == nullptr ? newest[number] : block.newer->older) = block.older;
  if (block.older != nullptr) block.older->newer = block.newer;
  if (newest[number] == nullptr) filled[number / 64] &= ~(std::uint64_t{1} << number % 64);
}

/// The first one from `least` on that is not empty; kSizeClasses if there is none.
std::size_t SegmentHeap::Lists::first_class(std::size_t least) const noexcept {
  std::size_t word = least / 64;
  if (word >= filled.size()) return kSizeClasses;
  std::uint64_t bits = filled[word] >> least % 64 << least % 64;
  while (bits == 0) {
    if (++word == filled.size()) return kSizeClasses;
    bits = filled[word];
  }
  return 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
}

/// A block that is hardly larger than others, and low: so that what is high may become idle.
SegmentHeap::Block* SegmentHeap::Lists::find(std::size_t size) const noexcept {
  const std::size_t number = first_class(size_class(size));
  if (number == kSizeClasses) return nullptr;
  Block* lowest = newest[number];
  int looks = kLooks;
  for (Block* block = lowest->older; block != nullptr && --looks > 0; block = block->older) {
    if (block->begin < lowest->begin) lowest = block;
  }
  return lowest;
}

SegmentHeap::Block* SegmentHeap::Lists::largest() const noexcept {
  for (std::size_t word = filled.size(); word-- > 0;) {
    if (filled[word] == 0) continue;
    Block* largest =
        newest[64 * word + 63 - static_cast<std::size_t>(std::countl_zero(filled[word]))];
    for (Block* block = largest; block != nullptr; block = block->older) {
      if (block->size > largest->size) largest = block;
    }
    return largest;
  }
  return nullptr;
}

SegmentHeap::SegmentHeap(PageMap& pages) : pages_(&pages) { add(pages.range()); }

std::byte* SegmentHeap::take(std::size_t size, std::size_t most) noexcept {
  Block* block = kept_.newest[size_class(size)];
  if (block == nullptr || block->size != size) block = free_.find(size);
  if ((block == nullptr || block->size > most) && has_kept_) {
    free_kept();
    block = free_.find(size);
  }
  if (block == nullptr || block->size > most) return nullptr;
  remove(*block);
  cut(*block, size);
  return go_live(*block);
}

std::byte* SegmentHeap::take_hollow(std::size_t size) noexcept {
  Block* const block = hollow_.find(size);
  if (block == nullptr) return nullptr;
  remove(*block);
  cut(*block, size);
  if (block->size == size) return go_live(*block);
  put(*block, State::kHollow);  // there is no memory to write down what would be left
  return nullptr;
}

/// A block that is in no list.
std::byte* SegmentHeap::go_live(Block& block) noexcept {
  block.state = State::kLive;
  if (block.owner->live_blocks++ == 0) busy_.splice(busy_.end(), idle_, block.owner);
  live_bytes_ += block.size;
  return block.begin;
}

bool SegmentHeap::is_live(const std::byte* begin) const noexcept {
  const auto found = blocks_.find(begin);
  return found != blocks_.end() && found->second.state == State::kLive;
}

bool SegmentHeap::give_back(const std::byte* begin) noexcept {
  const auto found = blocks_.find(begin);
  if (found == blocks_.end() || found->second.state != State::kLive) return false;
  leave(found->second);
  put(found->second, State::kKept);
  has_kept_ = true;
  return true;
}

void SegmentHeap::give_back_hollow(const std::byte* begin) noexcept {
  Block& block = blocks_.find(begin)->second;
  leave(block);
  free(block);
}

/// A block is not live any more.
void SegmentHeap::leave(Block& block) noexcept {
  live_bytes_ -= block.size;
  block.idle_since = ++given_back_;
  if (--block.owner->live_blocks == 0) idle_.splice(idle_.end(), busy_, block.owner);
}

void SegmentHeap::add(Segment segment) {
  idle_.push_back({segment});
  try {
    Block& block = blocks_[segment.begin];
    block.begin = segment.begin;
    block.size = segment.bytes / kBlockAlignment * kBlockAlignment;
    block.owner = std::prev(idle_.end());
    put(block, state_of(block));
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

Segment SegmentHeap::hollow_out(std::size_t most) noexcept {
  Block* block = longest_idle();
  if (block == nullptr && has_kept_) {
    free_kept();  // what is no page of one may be a page of several
    block = longest_idle();
  }
  if (block == nullptr) return {};
  Segment idle = pages_->first_whole({block->begin, block->size});
  const std::size_t page = pages_->page();
  const std::size_t bytes = most < idle.bytes ? (most + page - 1) / page * page : idle.bytes;
  idle = {idle.begin + (idle.bytes - bytes), bytes};
  pages_->set(idle, /*mapped=*/false);
  remove(*block);
  free(*block);
  return idle;
}

/// Of the blocks with whole pages that have memory; null if there are none.
SegmentHeap::Block* SegmentHeap::longest_idle() const noexcept {
  Block* oldest = nullptr;
  for (const Lists* const blocks : {&kept_, &free_, &hollow_}) {
    std::size_t number = blocks->first_class(size_class(pages_->page()));
    for (; number != kSizeClasses; number = blocks->first_class(number + 1)) {
      for (Block* block = blocks->newest[number]; block != nullptr; block = block->older) {
        if (oldest != nullptr && oldest->idle_since <= block->idle_since) continue;
        if (pages_->first_whole({block->begin, block->size}).bytes != 0) oldest = block;
      }
    }
  }
  return oldest;
}

std::size_t SegmentHeap::idle_bytes() const noexcept {
  std::size_t bytes = 0;
  if (pages_ == nullptr) {
    for (const Owner& owner : idle_) bytes += owner.segment.bytes;
    return bytes;
  }
  const Block* block = &blocks_.find(pages_->range().begin)->second;
  while (block != nullptr) {
    Segment run{block->begin, 0};  // as if what is kept were joined
    for (; block != nullptr && block->state != State::kLive; block = block->after) {
      run.bytes += block->size;
    }
    bytes += pages_->whole_bytes(run);
    if (block != nullptr) block = block->after;
  }
  return bytes;
}

std::size_t SegmentHeap::largest_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Lists* const blocks : {&kept_, &free_}) {
    if (const Block* const largest = blocks->largest()) bytes = std::max(bytes, largest->size);
  }
  return bytes;
}

SegmentHeap::Lists& SegmentHeap::lists(State state) noexcept {
  if (state == State::kKept) return kept_;
  return state == State::kFree ? free_ : hollow_;
}

void SegmentHeap::put(Block& block, State state) noexcept {
  block.state = state;
  lists(state).add(block);
}

/// What a block that is neither live nor kept is.
SegmentHeap::State SegmentHeap::state_of(const Block& block) const noexcept {
  const bool has_pages = pages_ == nullptr || pages_->covers({block.begin, block.size});
  return has_pages ? State::kFree : State::kHollow;
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
            .owner = block.owner,
            .idle_since = block.idle_since};
    if (rest.after != nullptr) rest.after->before = &rest;
    block.after = &rest;
    block.size = size;
    put(rest, state_of(rest));
  } catch (const std::bad_alloc&) {
    return;
  }
}

/// Joins a block that is in no list with its free neighbours.
void SegmentHeap::free(Block& block) noexcept {
  const auto is_free = [](const Block* neighbour) {
    return neighbour != nullptr &&
           (neighbour->state == State::kFree || neighbour->state == State::kHollow);
  };
  Block* joined = &block;
  if (is_free(block.before)) {
    joined = block.before;
    remove(*joined);
    absorb_next(*joined);
  }
  if (is_free(joined->after)) {
    remove(*joined->after);
    absorb_next(*joined);
  }
  put(*joined, state_of(*joined));
}

void SegmentHeap::absorb_next(Block& block) noexcept {
  const Block& next = *block.after;
  block.size += next.size;
  block.idle_since = std::max(block.idle_since, next.idle_since);
  block.after = next.after;
  if (block.after != nullptr) block.after->before = &block;
  blocks_.erase(next.begin);
}

void SegmentHeap::free_kept() noexcept {
  if (!has_kept_) return;
  std::size_t number = kept_.first_class(0);
  for (; number != kSizeClasses; number = kept_.first_class(number)) {
    Block& block = *kept_.newest[number];
    remove(block);
    free(block);
  }
  has_kept_ = false;
}

}  // namespace heddle::device
