#pragma once

#include <cstdint>

namespace heddle::support {

/// What the program has done with graphs so far.
struct FakeCudaGraphs {
  std::uint64_t made = 0;  ///< executable ones
  std::uint64_t updated = 0;
  std::uint64_t launched = 0;
  std::uint64_t nodes = 0;  ///< of those launched
  std::uint64_t alive = 0;  ///< executable ones
};
FakeCudaGraphs fake_cuda_graphs();

/// From now on no capture begins, or none ends well.
enum class CaptureFault { kNone, kBegin, kEnd };
void fail_fake_cuda_capture(CaptureFault fault);

}  // namespace heddle::support
