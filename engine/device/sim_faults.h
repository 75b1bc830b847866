#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "heddle/error.h"

#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/device/gpu_spec.h"

namespace heddle::device {

/// What goes wrong on a simulated GPU, by its options. Its *launches* are the operations that are
/// issued to its streams, numbered from 1 on as they are issued, whatever the stream and the
/// engine. As on a real GPU the callable of a launch that fails has run: the fault comes after it,
/// and what it has done counts for nothing. On a lost GPU it fails where it touches memory.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants:
/// - What fails and by how much a launch is late depends on its number only. What has a lower
///   number than the launch with which the GPU is lost fails, too, unless it has ended before.
/// - is_lost_ goes from false to true once, when the first launch from lost_after on has its turn.
class SimFaults {
 public:
  /// Of logical GPU `id`. `seed` chooses the delays.
  SimFaults(int id, const SimFaultSpec& spec, std::uint64_t seed);

  /// True if launches are late, and so have to wait on some thread.
  bool has_jitter() const { return spec_.jitter > std::chrono::nanoseconds::zero(); }
  /// By how much a launch is late: less than or as long as `jitter`, any time as likely.
  std::chrono::nanoseconds delay_of(std::uint64_t launch) const;

  /// The number of one more launch.
  std::uint64_t count_launch() { return launches_.fetch_add(1) + 1; }
  /// Runs the work of a launch whose turn it is, and tells it if the GPU fails to do it.
  void run(const Work& work, std::uint64_t launch);

  /// Counts one more allocation. Throws DeviceError if the GPU is lost, and OutOfMemory if this
  /// one is to find no memory. The operation that it belongs to gets none any more then, as on a
  /// GPU that is full: it tries again while others end (see Storage), which is no new allocation.
  void allocate(std::size_t bytes);

  /// Throws DeviceError if the GPU is lost.
  void check_usable() const;

 private:
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }
  std::exception_ptr failure_of(std::uint64_t launch) const noexcept;

  const int id_;
  const SimFaultSpec spec_;
  const std::uint64_t seed_;
  const DeviceError loss_;
  base::Atomic<bool> is_lost_{false};
  base::Atomic<std::uint64_t> launches_{0};
  base::Atomic<std::uint64_t> allocations_{0};
};

}  // namespace heddle::device
