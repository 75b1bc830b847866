#pragma once

namespace heddle::device {

void begin_host_wait() noexcept;
void end_host_wait() noexcept;

/// The calling thread waits, perhaps inside an operation, for what others do: as long as the object
/// lives these may have the GPU that the thread has for itself alone (see CudaTurn), and they do
/// what else it would have to (see CudaCompletion). What it held back (see CudaStream) has gone to
/// the GPU before.
///
/// Thread safety: an object belongs to the thread that made it. What this makes ready meanwhile it
/// has to leave (leave_deferred_calls()) before it waits on.
class HostWait {
 public:
  HostWait() noexcept { begin_host_wait(); }
  ~HostWait() { end_host_wait(); }
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;
};

}  // namespace heddle::device
