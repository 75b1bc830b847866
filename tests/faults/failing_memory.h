#pragma once

#include <cstdint>

namespace heddle::faults {

/// While it lives every `every`-th allocation fails that the thread that made it does, or every
/// thread. Counts operators new and the aligned_alloc of the engine's blocks; malloc, from which
/// exceptions come, does not fail. One at a time.
class FailingMemory {
 public:
  enum class Of : std::uint8_t { kThisThread, kEveryThread };

  FailingMemory(Of threads, std::uint32_t every);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  /// Allocations that have failed in this process.
  static std::uint64_t failures();
};

}  // namespace heddle::faults
