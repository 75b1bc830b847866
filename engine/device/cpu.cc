#include "engine/device/cpu.h"

#include <cstring>

#include <unistd.h>

#include "engine/runtime.h"

namespace heddle::device {
namespace {

/// Thread safety: see Backend; the pool synchronizes itself and there is no other state.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(MemoryPool& pool) : pool_(pool) {}

  std::string description() const override { return "CPU"; }
  bool runs_cpu_kernels() const override { return true; }
  bool host_accessible() const override { return true; }

  void* allocate(std::size_t bytes) override { return pool_.allocate(bytes); }
  void deallocate(void* block, std::size_t bytes) noexcept override {
    pool_.deallocate(block, bytes);
  }

  void expect(std::ptrdiff_t bytes) noexcept override { pool_.expect(bytes); }
  MemoryStatistics memory() const override { return pool_.statistics(); }
  void trim() noexcept override { pool_.trim(); }

  bool reads(Device other) const override { return !other.is_gpu(); }

  void open(void* /*block*/, std::size_t /*bytes*/) override {}
  void close(void* /*block*/, std::size_t /*bytes*/) noexcept override {}

  void copy(void* to, Device to_device, const void* from, Device from_device,
            std::size_t bytes) override {
    if (to_device.is_gpu())
      return backend_of(to_device).copy(to, to_device, from, from_device, bytes);
    if (from_device.is_gpu())
      return backend_of(from_device).copy(to, to_device, from, from_device, bytes);
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  std::unique_ptr<Stream> make_stream(Lane /*lane*/, Executor& /*executor*/) override {
    return nullptr;
  }

 private:
  MemoryPool& pool_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  // Leaked, as blocks are given back until the process ends.
  static auto* const pool = new MemoryPool(
      "cpu", host_memory(),
      {physical_memory(), physical_memory() / 4, resolved_runtime_options().debug_memory});
  return make_cpu_backend(*pool);
}

std::unique_ptr<Backend> make_cpu_backend(MemoryPool& pool) {
  return std::make_unique<CpuBackend>(pool);
}

std::size_t physical_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace heddle::device
