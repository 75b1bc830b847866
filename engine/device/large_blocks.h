#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/device/raw_memory.h"

namespace heddle::device {

/// The large blocks of a pool, and the memory that it has in all.
///
/// Thread safety: every member but the destructor may be called from any thread. Memory is asked
/// for and given back by one thread at a time; meanwhile others take and return what there is.
class LargeBlocks {
 public:
  struct Statistics {
    std::size_t live_bytes = 0;
    std::size_t reserved_bytes = 0;  ///< live and cached
    std::size_t peak_reserved_bytes = 0;
    std::size_t idle_bytes = 0;     ///< reserved, and can be given back
    std::size_t largest_bytes = 0;  ///< of a request for which there is room
    std::uint64_t misses = 0;       ///< allocations for which RawMemory was asked
  };

  virtual ~LargeBlocks() = default;
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;

  /// A block of `size`, a block_size(), or null: there is no memory for it even after all that is
  /// idle has been given back.
  virtual std::byte* allocate(std::size_t size) noexcept = 0;
  /// False if no such block is live.
  virtual bool deallocate(const std::byte* block) noexcept = 0;
  virtual bool is_live(const std::byte* block) noexcept = 0;
  /// Gives what is idle back, the longest idle first, until at most `keep` bytes are cached.
  virtual void trim(std::size_t keep) noexcept = 0;

  /// Small blocks are cut from blocks of this size, if the budget has room for many of them.
  virtual std::size_t good_segment() const noexcept = 0;
  /// How many of the largest small blocks are one of these.
  virtual std::size_t small_blocks_in_segment() const noexcept = 0;
  /// Reserved and not live; of a moment ago.
  virtual std::size_t cached_bytes() const noexcept = 0;
  virtual Statistics statistics() = 0;

 protected:
  LargeBlocks() = default;
};

/// Of segments, each of which is taken and given back as a whole. Of at most `budget` bytes.
std::unique_ptr<LargeBlocks> make_segment_blocks(RawMemory raw, std::size_t budget);

/// Of one range of addresses, in which memory moves to where it is wanted. Null if there are no
/// such addresses to be had. Of at most `budget` bytes.
std::unique_ptr<LargeBlocks> make_paged_blocks(RawMemory raw, std::size_t budget);

}  // namespace heddle::device
