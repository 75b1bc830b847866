#include "engine/device/memory_pool.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "heddle/error.h"

#include "engine/base/asan.h"
#include "engine/device/quantity.h"

namespace heddle::device {
namespace {

constexpr std::size_t kLargestRequest = std::size_t{1} << 61U;  // no block size overflows

/// There is room for so many segments of small blocks, or they are smaller.
constexpr std::size_t kSegmentsInBudget = 16;

/// Under AddressSanitizer a write beyond a small block must not hit the next one unseen.
constexpr std::size_t kGap = base::kAddressSanitizer ? kBlockAlignment : 0;

std::unique_ptr<LargeBlocks> make_large_blocks(const RawMemory& raw, std::size_t budget) {
  std::unique_ptr<LargeBlocks> paged = make_paged_blocks(raw, budget);
  return paged != nullptr ? std::move(paged) : make_segment_blocks(raw, budget);
}

}  // namespace

MemoryPool::MemoryPool(std::string owner, const RawMemory& raw, PoolLimits limits)
    : owner_(std::move(owner)),
      is_host_(raw.is_host),
      fill_(limits.fills ? raw.fill : nullptr),
      limits_(limits),
      large_(make_large_blocks(raw, limits.budget)),
      segment_(
          block_size_within(std::min(large_->good_segment(), limits.budget / kSegmentsInBudget))),
      small_most_(segment_ / large_->small_blocks_in_segment()) {}

MemoryPool::~MemoryPool() { trim(); }

void* MemoryPool::allocate(std::size_t bytes) {
  if (bytes > kLargestRequest) fail(bytes);
  const std::size_t size = size_for(bytes);
  std::byte* const block = size <= small_most_ ? find_small(size) : find_large(size);
  if (block == nullptr) fail(bytes);
  if (is_host_) base::unpoison(block, bytes);
  if (fill_) fill_(block, bytes);
  return block;
}

std::byte* MemoryPool::find_small(std::size_t size) noexcept {
  if (std::byte* const block = take_small(size)) return block;
  const std::lock_guard growing(growth_);
  if (std::byte* const block = take_small(size)) return block;
  if (std::byte* const block = cut_new_segment(size)) return block;
  return count_live(large_->allocate(size), size);
}

std::byte* MemoryPool::find_large(std::size_t size) noexcept {
  const std::uint64_t returns = segment_returns_.load();
  if (std::byte* const block = large_->allocate(size)) return count_live(block, size);
  const std::lock_guard growing(growth_);
  const bool others_did = segment_returns_.load() != returns;
  if (give_back_idle_segments(0) || others_did) {
    large_->trim(0);
    if (std::byte* const block = large_->allocate(size)) return count_live(block, size);
  }
  return take_small(size);
}

std::byte* MemoryPool::take_small(std::size_t size) noexcept {
  const std::lock_guard lock(mutex_);
  std::byte* const block = small_.take(size);
  if (block != nullptr) count_live_locked(size);
  return block;
}

/// A block of a new segment for small ones, or null.
std::byte* MemoryPool::cut_new_segment(std::size_t size) noexcept {
  std::byte* const segment = large_->allocate(segment_);
  if (segment == nullptr) return nullptr;
  try {
    const std::lock_guard lock(mutex_);
    small_.add({segment, segment_});
    count_live_locked(size);
    return small_.take(size);
  } catch (const std::bad_alloc&) {  // there is no room even to write the segment down
    large_->deallocate(segment);
    return nullptr;
  }
}

/// Counts a block, unless it is null, and returns it.
std::byte* MemoryPool::count_live(std::byte* block, std::size_t size) noexcept {
  if (block == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  count_live_locked(size);
  return block;
}

void MemoryPool::count_live_locked(std::size_t size) noexcept {
  ++allocations_;
  live_bytes_ += size;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
}

std::size_t MemoryPool::size_for(std::size_t bytes) const {
  const std::size_t size = block_size(bytes);
  return is_host_ && size <= small_most_ ? block_size(bytes + kGap) : size;
}

void MemoryPool::deallocate(void* block, std::size_t bytes) noexcept {
  const auto* const begin = static_cast<const std::byte*>(block);
  const std::size_t size = size_for(bytes);
  // What is done to the memory comes first: then it may be another's.
  if ((base::kAddressSanitizer || fill_) && !is_live(begin)) return complain(block, bytes);
  if (is_host_ && fill_) {
    base::unpoison(block, bytes);
    fill_(block, bytes);
  }
  if (is_host_) base::poison(block, bytes);
  bool known = false;
  bool too_many = false;
  {
    const std::lock_guard lock(mutex_);
    known = small_.begins(begin) ? small_.give_back(begin) : large_->deallocate(begin);
    if (known) live_bytes_ -= size;
    too_many = cached_locked() > std::max(limits_.cache_limit, stuck_);
  }
  if (!known) complain(block, bytes);
  if (too_many) trim(limits_.cache_limit);
}

bool MemoryPool::is_live(const std::byte* block) const noexcept {
  const std::lock_guard lock(mutex_);
  return small_.begins(block) ? small_.is_live(block) : large_->is_live(block);
}

std::size_t MemoryPool::cached_locked() const noexcept {
  return large_->cached_bytes() + small_cached_locked();
}

void MemoryPool::trim(std::size_t keep) noexcept {
  const std::lock_guard growing(growth_);
  {
    const std::lock_guard lock(mutex_);
    stuck_ = 0;  // what comes back from now on may be idle: who brings it looks after this call
  }
  const auto trim_large = [&] {
    const std::size_t small = [this] {
      const std::lock_guard lock(mutex_);
      return small_cached_locked();
    }();
    large_->trim(keep > small ? keep - small : 0);
  };
  trim_large();
  if (give_back_idle_segments(keep)) trim_large();
  const std::lock_guard lock(mutex_);
  const std::size_t cached = cached_locked();
  stuck_ = cached > keep ? cached : 0;
}

/// Gives idle segments of small blocks to large_, until without them at most `keep` bytes would be
/// cached. False if there was none.
bool MemoryPool::give_back_idle_segments(std::size_t keep) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t cached = cached_locked();
  std::size_t given_back = 0;
  while (cached > keep + given_back) {
    const std::optional<Segment> segment = small_.remove_idle();
    if (!segment) break;
    large_->deallocate(segment->begin);
    given_back += segment->bytes;
  }
  if (given_back != 0) segment_returns_.fetch_add(1);
  return given_back != 0;
}

MemoryStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  const LargeBlocks::Statistics large = large_->statistics();
  const std::size_t cached = std::max(large.reserved_bytes, live_bytes_) - live_bytes_;
  const std::size_t idle = large.idle_bytes + small_.idle_bytes();
  return {.live_bytes = live_bytes_,
          .pending_bytes = pending_bytes_.load(std::memory_order_relaxed),
          .cached_bytes = cached,
          .fragmented_bytes = cached - std::min(cached, idle),
          .peak_bytes = peak_bytes_,
          .peak_reserved_bytes = large.peak_reserved_bytes,
          .largest_bytes = block_size_within(std::max(large.largest_bytes, small_.largest_bytes())),
          .hits = allocations_ - std::min(allocations_, large.misses),
          .misses = large.misses};
}

void MemoryPool::complain(const void* block, std::size_t bytes) const noexcept {
  std::fprintf(stderr,
               "[%s] %p, %zu bytes: given back, but it is not live; it was given back before, or "
               "is not of this pool\n",
               owner_.c_str(), block, bytes);
}

void MemoryPool::fail(std::size_t bytes) const {
  const MemoryStatistics now = statistics();
  throw OutOfMemory("[" + owner_ + "] out of memory: " + size_text(bytes) + " requested, " +
                    size_text(now.live_bytes) + " live (" + size_text(now.pending_bytes) +
                    " of it about to be freed), " + size_text(now.cached_bytes) +
                    " cached, largest to be had " + size_text(now.largest_bytes) + ", budget " +
                    size_text(limits_.budget));
}

}  // namespace heddle::device
