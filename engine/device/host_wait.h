#pragma once

namespace heddle::device {

/// The calling thread waits, perhaps inside an operation, for what others do: as long as the object
/// lives these may have the GPU that the thread has for itself alone (see CudaTurn).
///
/// Thread safety: an object belongs to the thread that made it, which issues nothing meanwhile.
class HostWait {
 public:
  HostWait() noexcept;
  ~HostWait();
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;
};

}  // namespace heddle::device
