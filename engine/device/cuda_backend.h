#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"
#include "engine/device/memory_quota.h"

namespace heddle::device {

/// A logical GPU on a physical one, which others may share: own streams, and blocks of common
/// memory up to an own quota. What kernels have of it while they run counts for no quota, nor does
/// what was given back while work on it is under way.
///
/// Thread safety: see Backend.
class CudaBackend final : public Backend {
 public:
  /// Logical GPU `id`, one of `sharers` on `gpu`.
  CudaBackend(int id, CudaGpu& gpu, int sharers);

  CudaGpu& gpu() const { return gpu_; }

  std::string description() const override;
  bool runs_cpu_kernels() const override { return false; }
  bool host_accessible() const override { return false; }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;
  bool frees_early() const override;
  void expect(std::ptrdiff_t bytes) noexcept override { gpu_.memory().expect(bytes); }
  MemoryStatistics memory() const override;
  void trim() noexcept override { gpu_.memory().trim(); }
  std::size_t room() const override { return quota_.room(); }
  bool reads(Device other) const override;
  void open(void* /*block*/, std::size_t /*bytes*/) override {}
  void close(void* /*block*/, std::size_t /*bytes*/) noexcept override {}
  void copy(void* to, Device to_device, const void* from, Device from_device,
            std::size_t bytes) override;
  std::unique_ptr<Stream> make_stream(Lane lane, Executor& executor) override;
  std::unique_ptr<Stream> make_free_stream() override;

 private:
  void* take_memory(std::size_t bytes);

  CudaGpu& gpu_;
  MemoryQuota quota_;
};

/// The physical GPU of a device; null if it is none of CUDA's.
CudaGpu* cuda_gpu_of(Device device);

}  // namespace heddle::device
