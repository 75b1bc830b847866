#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace heddle::device {

/// Where a pool gets its memory from. Both functions may be called from any thread, and throw
/// nothing.
struct RawMemory {
  /// 64-byte aligned, or null if there is none.
  std::function<void*(std::size_t bytes)> allocate;
  std::function<void(void* block, std::size_t bytes)> release;
  bool is_host = true;  ///< the process may touch it
};

/// The heap of the process.
RawMemory host_memory();

struct PoolLimits {
  std::size_t budget = SIZE_MAX;       ///< bytes live and cached together
  std::size_t cache_limit = SIZE_MAX;  ///< bytes cached
};

/// Bytes are of whole size classes.
struct PoolStatistics {
  std::size_t live_bytes = 0;    ///< handed out
  std::size_t cached_bytes = 0;  ///< given back, kept for reuse
  std::size_t peak_bytes = 0;    ///< most that was live at once
  std::uint64_t hits = 0;        ///< allocations served from the cache
  std::uint64_t misses = 0;      ///< allocations served by RawMemory
};

/// Keeps blocks that were given back, so that the next one of their size class costs neither a
/// system call nor page faults. There are four classes per power of two, from 64 bytes on.
///
/// Under AddressSanitizer the bytes of a block beyond those asked for, and cached blocks, are
/// poisoned if they are the host's.
///
/// Thread safety: every member but the destructor may be called from any thread. The mutex is
/// never held while RawMemory works.
///
/// Invariants (of the state under the mutex):
/// - A block is live, cached, or on its way between RawMemory and one of these; in the latter case
///   it counts as live if it is being allocated and not at all if it is being released.
/// - cached_bytes is the sum of the classes' free blocks, all of which have their class's size.
/// - live_bytes + cached_bytes <= budget; cached_bytes <= cache_limit outside of deallocate().
class MemoryPool {
 public:
  /// `owner` names the pool in errors.
  MemoryPool(std::string owner, RawMemory raw, PoolLimits limits);
  /// Every block must have been given back.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// 64-byte aligned, uninitialized, never null. Throws OutOfMemory if there is no memory even
  /// after the cache has been emptied.
  void* allocate(std::size_t bytes);
  /// `bytes` is what allocate() was asked for.
  void deallocate(void* block, std::size_t bytes) noexcept;

  /// Gives cached blocks back to RawMemory, least recently used classes first, until at most
  /// `keep` bytes are cached.
  void trim(std::size_t keep = 0) noexcept;

  PoolStatistics statistics() const;
  /// What is left of the budget; cached blocks count as free.
  std::size_t room() const { return limits_.budget - statistics().live_bytes; }

  /// The size of the class that serves `bytes`: at most a quarter more, from 257 bytes on.
  static std::size_t class_size(std::size_t bytes);

 private:
  struct SizeClass {
    std::vector<void*> blocks;
    std::uint64_t last_use = 0;  // in ticks of clock_
  };
  struct Victim {
    void* block = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kClasses = std::size_t{4} * 64;

  static std::size_t class_index(std::size_t class_bytes);
  void* take_cached(std::size_t class_bytes);
  bool reserve(std::size_t class_bytes);
  void cancel_reservation(std::size_t class_bytes);
  Victim take_victim(std::size_t keep) noexcept;
  void poison(const void* block, std::size_t bytes) const noexcept;
  void unpoison(const void* block, std::size_t bytes) const noexcept;
  [[noreturn]] void fail(std::size_t bytes) const;

  const std::string owner_;
  const RawMemory raw_;
  const PoolLimits limits_;

  mutable std::mutex mutex_;
  PoolStatistics statistics_;
  std::uint64_t clock_ = 0;  // counts allocations and deallocations
  std::array<SizeClass, kClasses> classes_;
};

}  // namespace heddle::device
