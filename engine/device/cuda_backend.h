#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"

namespace heddle::device {

/// A logical GPU on a physical one, which others may share: own streams, common memory.
///
/// Thread safety: see Backend.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(CudaGpu& gpu) : gpu_(gpu) {}

  CudaGpu& gpu() const { return gpu_; }

  std::string description() const override;
  bool runs_cpu_kernels() const override { return false; }
  bool host_accessible() const override { return false; }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;
  bool reads(Device other) const override;
  void open(void* /*block*/, std::size_t /*bytes*/) override {}
  void close(void* /*block*/, std::size_t /*bytes*/) noexcept override {}
  void copy(void* to, Device to_device, const void* from, Device from_device,
            std::size_t bytes) override;
  std::unique_ptr<Stream> make_stream(Lane lane, Executor& executor) override;

 private:
  CudaGpu& gpu_;
};

/// The physical GPU of a device; null if it is none of CUDA's.
CudaGpu* cuda_gpu_of(Device device);

}  // namespace heddle::device
