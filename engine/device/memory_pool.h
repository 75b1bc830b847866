#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "heddle/memory.h"

#include "engine/base/sync.h"
#include "engine/device/large_blocks.h"
#include "engine/device/raw_memory.h"
#include "engine/device/segment_heap.h"

namespace heddle::device {

struct PoolLimits {
  std::size_t budget = SIZE_MAX;       ///< bytes live and cached together, to a page
  std::size_t cache_limit = SIZE_MAX;  ///< bytes cached, beyond which idle memory is given back
  /// Blocks are filled with kNaNs when they are handed out and, if the memory is the host's, when
  /// they come back.
  bool fills = false;
};

/// Cuts blocks from large pieces of memory and keeps what comes back, so that an allocation costs
/// neither a system call nor page faults, and small blocks share pages.
///
/// Under AddressSanitizer there is a gap behind each small block. It, and what is cached, is
/// poisoned if it is the host's.
///
/// Thread safety: every member but the destructor may be called from any thread. The mutex is
/// never held while RawMemory works. growth_ and mutex_ are taken before those of large_.
///
/// Invariants (of the state under the mutex):
/// - Blocks of up to small_most_ bytes are small_'s, cut from segments that are blocks of large_,
///   others large_'s: a small block would keep a large one from being used whole. Only what would
///   fail otherwise comes from where there is room.
/// - Segments are added to small_ under growth_ only, so who has it and finds none there knows that
///   no other request is about to add one.
/// - deallocate() leaves more than cache_limit cached only where nothing was idle when as much was
///   cached before.
class MemoryPool {
 public:
  /// `owner` names the pool in errors.
  MemoryPool(std::string owner, const RawMemory& raw, PoolLimits limits);
  /// Every block must have been given back.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// 64-byte aligned, uninitialized, never null. Throws OutOfMemory if there is no memory even
  /// after all that is idle has been given back.
  void* allocate(std::size_t bytes);
  /// `bytes` is what allocate() was asked for. A block that is not live is named on standard error,
  /// and nothing else happens.
  void deallocate(void* block, std::size_t bytes) noexcept;

  /// Gives memory without a live block back to RawMemory, that of large blocks first, and of this
  /// what has been idle for longest, until at most `keep` bytes are cached or none is idle.
  void trim(std::size_t keep = 0) noexcept;

  /// So many bytes more, or fewer, of what is live are about to come back.
  void expect(std::ptrdiff_t bytes) noexcept {
    pending_bytes_.fetch_add(static_cast<std::size_t>(bytes), std::memory_order_relaxed);
  }
  MemoryStatistics statistics() const;
  /// What is left of the budget; cached memory counts as free.
  std::size_t room() const {
    const std::lock_guard lock(mutex_);
    return limits_.budget - live_bytes_;
  }

 private:
  std::byte* find_small(std::size_t size) noexcept;
  std::byte* take_small(std::size_t size) noexcept;
  std::byte* find_large(std::size_t size) noexcept;
  std::byte* cut_new_segment(std::size_t size) noexcept;
  std::byte* count_live(std::byte* block, std::size_t size) noexcept;
  void count_live_locked(std::size_t size) noexcept;
  std::size_t size_for(std::size_t bytes) const;
  std::size_t cached_locked() const noexcept;
  std::size_t small_cached_locked() const noexcept {
    return small_.reserved_bytes() - small_.live_bytes();
  }
  bool give_back_idle_segments(std::size_t keep) noexcept;
  bool is_live(const std::byte* block) const noexcept;
  void complain(const void* block, std::size_t bytes) const noexcept;
  [[noreturn]] void fail(std::size_t bytes) const;

  const std::string owner_;
  const bool is_host_;
  const std::function<void(void*, std::size_t)> fill_;  // empty: blocks stay as they are
  const PoolLimits limits_;
  const std::unique_ptr<LargeBlocks> large_;
  const std::size_t segment_;     // bytes of one for small blocks
  const std::size_t small_most_;  // bytes of a small block

  base::Mutex growth_;
  mutable base::Mutex mutex_;
  SegmentHeap small_;
  std::size_t live_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
  std::uint64_t allocations_ = 0;
  base::Atomic<std::size_t> pending_bytes_{0};
  base::Atomic<std::uint64_t> segment_returns_{0};  // how often some have become idle in large_
  std::size_t stuck_ = 0;  // cached and not idle, when idle memory was given back last
};

}  // namespace heddle::device
