#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/device.h"

namespace heddle {

/// What a device's memory is used for, in bytes. Logical GPUs share the memory of their card: of a
/// CUDA device `live_bytes` is what its arrays asked for, `largest_bytes` is within its quota, and
/// the rest is the card's.
struct MemoryStatistics {
  std::size_t live_bytes = 0;  ///< of arrays and operations, in whole blocks
  /// Of these, what comes back when operations that are pushed have ended: arrays without a handle.
  std::size_t pending_bytes = 0;
  std::size_t cached_bytes = 0;         ///< reserved and not live
  std::size_t fragmented_bytes = 0;     ///< cached in gaps that neither move nor can be given back
  std::size_t peak_bytes = 0;           ///< most that was live at once
  std::size_t peak_reserved_bytes = 0;  ///< most that was live and cached at once
  std::size_t largest_bytes = 0;        ///< of an array for which there is room
  std::uint64_t hits = 0;    ///< arrays that got cached memory, and nothing else was asked
  std::uint64_t misses = 0;  ///< those for which the system, or CUDA, was asked
};

/// How the memory of `device` stands at this moment; operations that run change it. Throws
/// std::invalid_argument if there is no such device.
MemoryStatistics memory_statistics(Device device);

/// Gives cached memory back to the system, or to CUDA, but for what is fragmented. What is live
/// stays, so does what pushed operations are about to free: wait for them first. Throws as
/// memory_statistics().
void trim_memory(Device device);

}  // namespace heddle
