#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include <cuda.h>

#include "engine/base/sync.h"
#include "engine/device/raw_memory.h"

namespace heddle::device {

class CudaGpu;

/// Memory of a GPU that is given to addresses page by page, by CUDA's virtual memory management.
/// The driver's functions are asked of the runtime, as the driver is never linked.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants (under the mutex): mapped_ has the pages that have memory. The GPU may access each of
/// them, and so may every one of peers_ that the driver lets.
class CudaPages : public std::enable_shared_from_this<CudaPages> {
 public:
  /// Null where the driver or the GPU has no such memory, or does not give a page for a trial.
  static std::shared_ptr<CudaPages> make(CudaGpu& gpu);
  CudaPages(const CudaPages&) = delete;
  CudaPages& operator=(const CudaPages&) = delete;

  /// For a pool, which keeps this object.
  PagedMemory memory();
  /// Lets another GPU access what is mapped, and what will be.
  void let_access(int peer) noexcept;

 private:
  struct Driver;

  CudaPages(CudaGpu& gpu, const Driver& driver, std::size_t page);
  static const Driver* find_driver();

  bool try_one();
  void* reserve(std::size_t bytes) noexcept;
  void abandon(void* range, std::size_t bytes) noexcept;
  bool map(CUdeviceptr begin, std::size_t bytes) noexcept;
  void unmap(CUdeviceptr begin, std::size_t bytes) noexcept;
  void unmap_each(CUdeviceptr begin, std::size_t bytes) noexcept;
  CUresult map_page(CUdeviceptr page) noexcept;
  CUresult allow(CUdeviceptr begin, std::size_t bytes, int device) noexcept;

  CudaGpu& gpu_;
  const Driver& driver_;
  const std::size_t page_;
  base::Mutex mutex_;
  std::set<CUdeviceptr> mapped_;
  std::vector<int> peers_;
};

}  // namespace heddle::device
