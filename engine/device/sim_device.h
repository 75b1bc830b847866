#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/device/gpu_spec.h"
#include "engine/device/memory_pool.h"
#include "engine/device/sim_faults.h"
#include "engine/device/sim_link.h"

namespace heddle::device {

/// A GPU made of CPU threads: own memory with a budget, FIFO streams, links that take modelled
/// time. It runs the CPU's kernels.
///
/// Under AddressSanitizer a block is poisoned whenever no operation has it open, so that a raw
/// pointer kept past its operation is caught when it is used.
///
/// Thread safety: see Backend.
///
/// Invariants (under AddressSanitizer; else nothing is counted):
/// - open_counts_ has exactly the blocks that are open, with the number of operations that have
///   them open.
/// - A live block is poisoned unless it is in open_counts_; the mutex is held across the change
///   of both.
class SimDevice final : public Backend {
 public:
  /// Logical GPU `id` of the table that `links` was made for. `seed` is that of its faults.
  SimDevice(int id, const SimSpec& spec, std::shared_ptr<SimLinks> links, std::uint64_t seed = 0,
            bool fills_memory = false);

  std::string description() const override { return description_; }
  bool runs_cpu_kernels() const override { return true; }
  bool host_accessible() const override { return false; }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;
  void expect(std::ptrdiff_t bytes) noexcept override { pool_.expect(bytes); }
  MemoryStatistics memory() const override { return pool_.statistics(); }
  void trim() noexcept override { pool_.trim(); }
  std::size_t room() const override { return pool_.room(); }
  bool reads(Device other) const override;
  void open(void* block, std::size_t bytes) override;
  void close(void* block, std::size_t bytes) noexcept override;
  void copy(void* to, Device to_device, const void* from, Device from_device,
            std::size_t bytes) override;
  std::unique_ptr<Stream> make_stream(Lane lane, Executor& executor) override;

 private:
  const int id_;
  const std::string description_;
  const std::shared_ptr<SimLinks> links_;
  const std::unique_ptr<SimFaults> faults_;  // null if nothing goes wrong
  MemoryPool pool_;
  base::Mutex open_mutex_;
  std::unordered_map<void*, int> open_counts_;  // guarded by open_mutex_
};

}  // namespace heddle::device
