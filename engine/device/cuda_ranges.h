#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::device {

// The build chooses which file defines it: cuda_no_ranges.cc where the toolkit has no NVTX.

/// A range of the calling thread, in the domain "heddle", that profilers show for as long as the
/// object lives. Where no profiler listens it costs a test.
///
/// Thread safety: an object belongs to the thread that made it, which ends ranges in the order that
/// is the reverse of how they began.
class CudaRange {
 public:
  /// Called `name`, or "#sequence" if that is empty.
  CudaRange(std::string_view name, std::uint64_t sequence) noexcept;
  ~CudaRange() { end(); }
  CudaRange(const CudaRange&) = delete;
  CudaRange& operator=(const CudaRange&) = delete;

 private:
  static void end() noexcept;
};

}  // namespace heddle::device
