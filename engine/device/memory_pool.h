#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/base/sync.h"
#include "engine/device/segment_heap.h"

namespace heddle::device {

/// Where a pool gets its memory from. Both functions may be called from any thread, and throw
/// nothing.
struct RawMemory {
  /// 64-byte aligned, or null if there is none.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void* block, std::size_t bytes)> release;
  bool is_host = true;  ///< the process may touch it
};

/// The heap of the process. What is large enough lies on huge pages if the system lends any.
RawMemory host_memory();

struct PoolLimits {
  std::size_t budget = SIZE_MAX;       ///< bytes live and cached together
  std::size_t cache_limit = SIZE_MAX;  ///< bytes cached, beyond which idle memory is given back
};

/// Bytes are of whole blocks (block_size()).
struct PoolStatistics {
  std::size_t live_bytes = 0;           ///< handed out
  std::size_t cached_bytes = 0;         ///< taken from RawMemory and not handed out
  std::size_t peak_bytes = 0;           ///< most that was live at once
  std::size_t peak_reserved_bytes = 0;  ///< most that was live and cached at once
  std::uint64_t hits = 0;               ///< allocations served from the cache
  std::uint64_t misses = 0;             ///< allocations served by RawMemory
};

/// Cuts blocks from large segments of memory and keeps what comes back, so that an allocation costs
/// neither a system call nor page faults, and small blocks share huge pages.
///
/// Under AddressSanitizer there is a gap behind each small block. It, and what is cached, is
/// poisoned if it is the host's.
///
/// Thread safety: every member but the destructor may be called from any thread. The mutex is
/// never held while RawMemory works.
///
/// Invariants (of the state under the mutex):
/// - Blocks of up to small_most_ bytes are small_'s, others large_'s, which cuts none that is much
///   larger than the request: a small block would keep a large one from being used whole. Only what
///   would fail otherwise comes from where there is room.
/// - A segment is in one of them, or on its way between RawMemory and it; in the latter case
///   growing_ counts it if it is being allocated, and nothing does if it is being released.
/// - reserved_locked() + growing_ <= budget. Who fails has seen growing_ at 0, or others fail.
/// - deallocate() leaves more than cache_limit cached only if no segment is idle.
class MemoryPool {
 public:
  /// `owner` names the pool in errors.
  MemoryPool(std::string owner, RawMemory raw, PoolLimits limits);
  /// Every block must have been given back.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// 64-byte aligned, uninitialized, never null. Throws OutOfMemory if there is no memory even
  /// after all idle segments have been given back.
  void* allocate(std::size_t bytes);
  /// `bytes` is what allocate() was asked for.
  void deallocate(void* block, std::size_t bytes) noexcept;

  /// Gives segments without a live block back to RawMemory, those of large blocks first, and of
  /// these what has been idle for longest, until at most `keep` bytes are cached or none is left.
  void trim(std::size_t keep = 0) noexcept;

  PoolStatistics statistics() const;
  /// What is left of the budget; cached memory counts as free.
  std::size_t room() const { return limits_.budget - statistics().live_bytes; }

 private:
  std::byte* find_in_rounds(std::size_t size);
  std::byte* find(std::size_t size);
  std::byte* take(std::size_t size);
  std::byte* take_anywhere(std::size_t size);
  std::byte* grow(std::size_t size, std::size_t segment);
  std::size_t size_for(std::size_t bytes) const;
  std::size_t segment_for(std::size_t size) const;
  SegmentHeap& heap_of(std::size_t size) { return size <= small_most_ ? small_ : large_; }
  SegmentHeap& other_heap(std::size_t size) { return size <= small_most_ ? large_ : small_; }
  std::size_t live_locked() const { return small_.live_bytes() + large_.live_bytes(); }
  std::size_t reserved_locked() const { return small_.reserved_bytes() + large_.reserved_bytes(); }
  std::size_t cached_locked() const { return reserved_locked() - live_locked(); }
  std::byte* count_locked(std::byte* block, std::uint64_t& counter);
  std::optional<Segment> take_victim(std::size_t keep) noexcept;
  void poison(const void* block, std::size_t bytes) const noexcept;
  void unpoison(const void* block, std::size_t bytes) const noexcept;
  [[noreturn]] void fail(std::size_t bytes) const;

  const std::string owner_;
  const RawMemory raw_;
  const PoolLimits limits_;
  const std::size_t segment_;     // bytes of one for small blocks
  const std::size_t small_most_;  // bytes of a small block

  mutable base::Mutex mutex_;
  SegmentHeap small_;
  SegmentHeap large_;
  std::size_t growing_ = 0;
  std::uint64_t growths_ = 0;  // segments that were added
  base::ConditionVariable grown_;
  PoolStatistics statistics_;  // but live_bytes and cached_bytes
};

}  // namespace heddle::device
