#include "engine/device/cuda_memory.h"

#include <cuda_runtime_api.h>

#include "engine/device/cpu.h"
#include "engine/device/cuda_gpu.h"
#include "engine/device/cuda_pages.h"
#include "engine/device/cuda_stream.h"
#include "engine/device/cuda_synchronize.h"
#include "engine/runtime.h"

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

void* allocate_pinned(std::size_t bytes) noexcept {
  const CudaCurrent current(CudaGpu::first());  // and not one that nobody asked for
  void* block = nullptr;
  if (cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess) return block;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

}  // namespace

RawMemory cuda_memory(CudaGpu& gpu, CudaPages* pages) {
  return {[&gpu](std::size_t bytes) { return allocate_from_cuda(gpu, bytes); },
          [&gpu](void* block, std::size_t) {
            const CudaCurrent current(gpu);
            static_cast<void>(cudaFree(block));
            static_cast<void>(cudaGetLastError());
          },
          /*is_host=*/false,
          [&gpu](void* block, std::size_t bytes) {
            const CudaCurrent current(gpu);
            const CudaStream* const stream = CudaStream::current();
            const bool in_order = stream != nullptr && &stream->gpu() == &gpu;
            static_cast<void>(cudaMemsetAsync(block, kNaNs, bytes,
                                              in_order ? stream->handle() : cudaStreamPerThread));
            if (!in_order) static_cast<void>(cuda_synchronize(cudaStreamPerThread));
            static_cast<void>(cudaGetLastError());
          },
          pages != nullptr ? pages->memory() : PagedMemory()};
}

MemoryPool& pinned_memory() {
  // Leaked: arrays in static objects give their memory back after main has returned.
  static auto* const pool =
      new MemoryPool("cpu_pinned",
                     {allocate_pinned,
                      [](void* block, std::size_t) {
                        static_cast<void>(cudaFreeHost(block));
                        static_cast<void>(cudaGetLastError());
                      },
                      /*is_host=*/true, host_memory().fill},
                     PoolLimits{.budget = physical_memory() / 4 * 3,
                                .cache_limit = SIZE_MAX,
                                .fills = resolved_runtime_options().debug_memory});
  return *pool;
}

}  // namespace heddle::device
