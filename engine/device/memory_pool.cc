#include "engine/device/memory_pool.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "heddle/error.h"

#include "engine/base/asan.h"

namespace heddle::device {
namespace {

constexpr std::size_t kLargestRequest = std::size_t{1} << 61U;  // no block size overflows
constexpr std::size_t kHugePage = std::size_t{2} << 20U;

/// What small blocks are cut from, if the budget has room for many of them.
constexpr std::size_t kSegment = 4 * kHugePage;
constexpr std::size_t kSegmentsInBudget = 16;
constexpr std::size_t kBlocksInSegment = 4;

/// Attempts of a request while others get memory. They may all be refused, so there is an end.
constexpr int kRounds = 8;

/// A large block is cut for requests of no less than 1 / kMostCut of it.
constexpr std::size_t kMostCut = 2;

/// Under AddressSanitizer a write beyond a small block must not hit the next one unseen.
constexpr std::size_t kGap = base::kAddressSanitizer ? kBlockAlignment : 0;

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

std::string readable(std::size_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace

RawMemory host_memory() {
  return {[](std::size_t bytes) {
            void* block = nullptr;
            const bool is_large = bytes >= kHugePage;
            if (posix_memalign(&block, is_large ? kHugePage : kBlockAlignment, bytes) != 0) {
              block = nullptr;
            } else if (is_large) {
              madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: it may fail
            }
            return block;
          },
          [](void* block, std::size_t) { std::free(block); }};
}

MemoryPool::MemoryPool(std::string owner, RawMemory raw, PoolLimits limits)
    : owner_(std::move(owner)),
      raw_(std::move(raw)),
      limits_(limits),
      segment_(std::min(kSegment,
                        limits.budget / kSegmentsInBudget / kBlockAlignment * kBlockAlignment)),
      small_most_(segment_ / kBlocksInSegment) {}

MemoryPool::~MemoryPool() { trim(); }

void* MemoryPool::allocate(std::size_t bytes) {
  if (bytes > kLargestRequest) fail(bytes);
  const std::size_t size = size_for(bytes);
  std::byte* block = take(size);
  if (block == nullptr) block = find_in_rounds(size);
  if (block == nullptr) fail(bytes);
  unpoison(block, bytes);
  return block;
}

/// A block, or null: not even what others got meanwhile has room.
std::byte* MemoryPool::find_in_rounds(std::size_t size) {
  std::unique_lock lock(mutex_);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t seen = growths_;
    lock.unlock();
    if (std::byte* const block = find(size)) return block;
    lock.lock();
    // What others have added or are about to add may serve this request, too.
    if (growing_ == 0 && growths_ == seen) break;
    grown_.wait(lock, [&] { return growing_ == 0 || growths_ != seen; });
  }
  return nullptr;
}

std::byte* MemoryPool::find(std::size_t size) {
  if (std::byte* const block = take(size)) return block;
  const std::size_t segment = segment_for(size);
  if (std::byte* const block = grow(size, segment)) return block;
  if (segment != size) {
    if (std::byte* const block = grow(size, size)) return block;
  }
  trim();
  if (std::byte* const block = grow(size, size)) return block;
  return take_anywhere(size);
}

std::size_t MemoryPool::size_for(std::size_t bytes) const {
  const std::size_t size = block_size(bytes);
  return raw_.is_host && size <= small_most_ ? block_size(bytes + kGap) : size;
}

std::byte* MemoryPool::take(std::size_t size) {
  const std::lock_guard lock(mutex_);
  const std::size_t most = size <= small_most_ ? SIZE_MAX : kMostCut * size;
  return count_locked(heap_of(size).take(size, most), statistics_.hits);
}

/// Also from a block that is better left whole.
std::byte* MemoryPool::take_anywhere(std::size_t size) {
  const std::lock_guard lock(mutex_);
  std::byte* block = heap_of(size).take(size);
  if (block == nullptr) block = other_heap(size).take(size);
  return count_locked(block, statistics_.hits);
}

/// A block of a new segment of at least `size` bytes, or null: of `segment` bytes if the budget has
/// room for them.
std::byte* MemoryPool::grow(std::size_t size, std::size_t segment) {
  {
    const std::lock_guard lock(mutex_);
    const std::size_t room = limits_.budget - reserved_locked() - growing_;
    if (size > room) return nullptr;
    segment = std::min(segment, room / kBlockAlignment * kBlockAlignment);
    growing_ += segment;
  }
  auto* const begin = static_cast<std::byte*>(raw_.allocate(segment));
  if (begin != nullptr) poison(begin, segment);
  std::byte* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    growing_ -= segment;
    grown_.notify_all();
    if (begin == nullptr) return nullptr;
    ++growths_;
    try {
      heap_of(size).add({begin, segment});
      block = count_locked(heap_of(size).take(size), statistics_.misses);
    } catch (const std::bad_alloc&) {
      // There is no room even to write the segment down: it goes back.
    }
  }
  if (block == nullptr) {
    unpoison(begin, segment);
    raw_.release(begin, segment);
  }
  return block;
}

std::size_t MemoryPool::segment_for(std::size_t size) const {
  if (size <= small_most_) return segment_;
  const std::size_t pages = round_up(size, kHugePage);
  return pages - size <= size / kBlocksInSegment / 2 ? pages : size;
}

/// Counts an allocation, if it is one, and returns it.
std::byte* MemoryPool::count_locked(std::byte* block, std::uint64_t& counter) {
  if (block == nullptr) return nullptr;
  ++counter;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, live_locked());
  statistics_.peak_reserved_bytes = std::max(statistics_.peak_reserved_bytes, reserved_locked());
  return block;
}

void MemoryPool::deallocate(void* block, std::size_t bytes) noexcept {
  poison(block, bytes);
  bool too_many = false;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t size = size_for(bytes);
    const auto* const begin = static_cast<const std::byte*>(block);
    if (!heap_of(size).give_back(begin)) other_heap(size).give_back(begin);
    const bool has_idle = small_.has_idle() || large_.has_idle();
    too_many = has_idle && cached_locked() > limits_.cache_limit;
  }
  if (too_many) trim(limits_.cache_limit);
}

void MemoryPool::trim(std::size_t keep) noexcept {
  while (const std::optional<Segment> victim = take_victim(keep)) {
    unpoison(victim->begin, victim->bytes);
    raw_.release(victim->begin, victim->bytes);
  }
}

std::optional<Segment> MemoryPool::take_victim(std::size_t keep) noexcept {
  const std::lock_guard lock(mutex_);
  if (cached_locked() <= keep) return std::nullopt;
  return large_.has_idle() ? large_.remove_idle() : small_.remove_idle();
}

void MemoryPool::poison(const void* block, std::size_t bytes) const noexcept {
  if (raw_.is_host) base::poison(block, bytes);
}

void MemoryPool::unpoison(const void* block, std::size_t bytes) const noexcept {
  if (raw_.is_host) base::unpoison(block, bytes);
}

PoolStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  PoolStatistics now = statistics_;
  now.live_bytes = live_locked();
  now.cached_bytes = cached_locked();
  return now;
}

void MemoryPool::fail(std::size_t bytes) const {
  const PoolStatistics now = statistics();
  throw OutOfMemory("[" + owner_ + "] out of memory: " + readable(bytes) + " requested, " +
                    readable(now.live_bytes) + " live, " + readable(now.cached_bytes) +
                    " cached, budget " + readable(limits_.budget));
}

}  // namespace heddle::device
