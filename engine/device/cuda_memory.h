#pragma once

#include <cstddef>
#include <utility>

#include "engine/device/memory_pool.h"

namespace heddle::device {

class CudaGpu;
class CudaPages;

/// The memory of a GPU for its pool: from `pages`, if there are any, else by cudaMalloc.
RawMemory cuda_memory(CudaGpu& gpu, CudaPages* pages);

/// Page-locked memory of the host that every GPU reaches, from a pool that the process shares.
MemoryPool& pinned_memory();

/// A block of pinned_memory(). Movable.
class PinnedBuffer {
 public:
  /// Throws OutOfMemory.
  explicit PinnedBuffer(std::size_t bytes)
      : bytes_(bytes), block_(pinned_memory().allocate(bytes)) {}
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : bytes_(other.bytes_), block_(std::exchange(other.block_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;
  ~PinnedBuffer() {
    if (block_ != nullptr) pinned_memory().deallocate(block_, bytes_);
  }
  void* data() const { return block_; }

 private:
  std::size_t bytes_;
  void* block_;
};

}  // namespace heddle::device
