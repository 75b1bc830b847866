#include "engine/device/cuda_memory.h"

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "engine/device/cpu.h"
#include "engine/device/cuda_gpu.h"

namespace heddle::device {
namespace {

/// Null if there is none; what is worse than that makes the GPU lost.
void* allocate_from_cuda(CudaGpu& gpu, std::size_t bytes) noexcept {
  if (gpu.is_lost()) return nullptr;
  const CudaCurrent current(gpu);
  void* block = nullptr;
  const cudaError_t result = cudaMalloc(&block, bytes);
  if (result == cudaSuccess) return block;
  static_cast<void>(cudaGetLastError());
  if (result != cudaErrorMemoryAllocation) gpu.lose(result, "cudaMalloc");
  return nullptr;
}

/// Cuts small blocks from slabs. A block that comes back serves the next request of its size.
///
/// Thread safety: every member may be called from any thread; the mutex is not held while CUDA
/// works, so two threads may take a slab each where one would have done.
///
/// Invariants (of the state under the mutex): [next_, next_ + left_) is of the newest slab and
/// handed out to nobody; the blocks in free_ were handed out and have come back.
class CudaSlabs {
 public:
  explicit CudaSlabs(CudaGpu& gpu) : gpu_(gpu) {}

  void* allocate(std::size_t bytes) noexcept {
    if (bytes > kLargest) return allocate_from_cuda(gpu_, bytes);
    if (void* const block = cut(bytes)) return block;
    void* const slab = allocate_from_cuda(gpu_, kSlab);
    if (slab == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    next_ = static_cast<char*>(slab) + rounded(bytes);
    left_ = kSlab - rounded(bytes);
    return slab;
  }

  void release(void* block, std::size_t bytes) noexcept {
    if (bytes > kLargest) {
      const CudaCurrent current(gpu_);
      static_cast<void>(cudaFree(block));
      static_cast<void>(cudaGetLastError());
      return;
    }
    const std::lock_guard lock(mutex_);
    try {
      free_[rounded(bytes)].push_back(block);
    } catch (const std::bad_alloc&) {
      // No room to remember it: the slab keeps a hole.
    }
  }

 private:
  static constexpr std::size_t kSlab = std::size_t{8} << 20U;
  static constexpr std::size_t kLargest = std::size_t{1} << 20U;
  static constexpr std::size_t kAlignment = 256;

  static std::size_t rounded(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  void* cut(std::size_t bytes) noexcept {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    const auto found = free_.find(size);
    if (found != free_.end() && !found->second.empty()) {
      void* const block = found->second.back();
      found->second.pop_back();
      return block;
    }
    if (left_ < size) return nullptr;
    left_ -= size;
    return std::exchange(next_, next_ + size);
  }

  CudaGpu& gpu_;
  std::mutex mutex_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::map<std::size_t, std::vector<void*>> free_;
};

void* allocate_pinned(std::size_t bytes) noexcept {
  const CudaCurrent current(CudaGpu::first());  // and not one that nobody asked for
  void* block = nullptr;
  if (cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess) return block;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

}  // namespace

RawMemory cuda_memory(CudaGpu& gpu) {
  const auto slabs = std::make_shared<CudaSlabs>(gpu);
  return {[slabs](std::size_t bytes) { return slabs->allocate(bytes); },
          [slabs](void* block, std::size_t bytes) { slabs->release(block, bytes); },
          /*is_host=*/false};
}

MemoryPool& pinned_memory() {
  // Leaked: arrays in static objects give their memory back after main has returned.
  static auto* const pool = new MemoryPool("cpu_pinned",
                                           {allocate_pinned,
                                            [](void* block, std::size_t) {
                                              static_cast<void>(cudaFreeHost(block));
                                              static_cast<void>(cudaGetLastError());
                                            }},
                                           PoolLimits{.budget = physical_memory() / 4 * 3});
  return *pool;
}

}  // namespace heddle::device
