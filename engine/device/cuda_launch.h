#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "heddle/unique_function.h"

#include "engine/device/cuda_gpu.h"
#include "engine/device/cuda_stream.h"

namespace heddle::device {

/// One step that an operation of a CUDA device takes: where it enqueues, what it needs until the
/// GPU is done with it, and its errors. On an engine without streams (kNaive) the step is done when
/// finish() returns; else it stands in the order of the operation's stream.
///
///   CudaLaunch on("relu");
///   cuda_run_kernel(on, &relu_kernel, blocks, threads, …);
///   on.finish();
///
/// Belongs to the thread that made it.
class CudaLaunch {
 public:
  /// `what` names the step in errors and outlives it. Throws Error unless the calling thread is in
  /// an operation of a CUDA device, DeviceError if that is lost.
  explicit CudaLaunch(const char* what);
  /// Without finish(), as after an exception: blocks if the engine has no streams.
  ~CudaLaunch();
  CudaLaunch(const CudaLaunch&) = delete;
  CudaLaunch& operator=(const CudaLaunch&) = delete;

  CudaGpu& gpu() const { return gpu_; }
  cudaStream_t stream() const {
    return stream_ != nullptr ? stream_->handle() : cudaStreamPerThread;
  }

  /// Device memory for what is enqueued in this operation. Throws OutOfMemory.
  void* scratch(std::size_t bytes);
  /// Has `action` called when the GPU is done; what it throws fails the operation.
  void at_end(UniqueFunction<void()> action);
  /// The next at_end() needs no memory.
  void reserve_end();
  /// A place for a library's handle that belongs to the stream.
  std::shared_ptr<void>& attachment() const;

  /// As CudaGpu::check, for a call that this step makes.
  void check(cudaError_t result, const char* call) const { gpu_.check(result, call); }
  /// Throws DeviceError, with `text` for what a library said, where it is no error of CUDA itself.
  [[noreturn]] void fail(const std::string& text) const;

  /// Everything is enqueued: throws if a launch was refused.
  void finish();

 private:
  const char* what_;
  CudaStream* const stream_;  // null: the engine has no streams
  CudaGpu& gpu_;
  const CudaCurrent current_;
  bool finished_ = false;
  std::vector<UniqueFunction<void()>> actions_;  // used without streams only
};

}  // namespace heddle::device
