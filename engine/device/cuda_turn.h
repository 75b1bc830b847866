#pragma once

#include <mutex>

#include <cuda_runtime_api.h>

#include "engine/base/sync.h"
#include "engine/device/cuda_gpu.h"
#include "engine/device/cuda_timeline.h"

namespace heddle::device {

/// With RuntimeOptions::debug_sync: the time in which a GPU is one piece's alone. No other thread
/// enqueues there while the object lives, and when it goes the GPU has done what the piece has
/// enqueued; an error is the piece's.
///
/// A thread has one turn at most, as what a piece pushes is issued after it (see Deferral): so no
/// thread waits for a GPU while it has one. A piece that waits for another GPU waits for work that
/// is issued, which ends; one that waits for something else is in a HostWait, and leaves the GPU to
/// others meanwhile, after awaiting what it has enqueued.
///
/// Thread safety: an object belongs to the thread that made it.
///
/// Invariants: a thread holds the mutex of the GPU of its turn, but in a HostWait, and of no other.
class CudaTurn {
 public:
  /// `stream` is what the piece enqueues on; both outlive the turn.
  CudaTurn(CudaGpu& gpu, cudaStream_t stream, CudaPiece& piece);
  ~CudaTurn();
  CudaTurn(const CudaTurn&) = delete;
  CudaTurn& operator=(const CudaTurn&) = delete;

  // For a HostWait, of which several may live.
  void begin_wait() noexcept;
  void end_wait();
  /// Of the calling thread, or null.
  static CudaTurn* current() noexcept;

 private:
  void enter();
  /// True if the GPU has done what is enqueued.
  bool leave() noexcept;
  bool synchronize() noexcept;

  CudaGpu& gpu_;
  const cudaStream_t stream_;
  CudaPiece& piece_;
  std::unique_lock<base::Mutex> lock_;
  int waits_ = 0;            // HostWaits that live
  bool was_usable_ = false;  // the GPU, when it was entered: what fails since then is the piece's
};

}  // namespace heddle::device
