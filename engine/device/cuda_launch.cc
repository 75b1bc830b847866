#include "engine/device/cuda_launch.h"

#include <array>
#include <exception>
#include <utility>

#include "heddle/error.h"

#include "engine/device/cuda_backend.h"
#include "engine/device/cuda_early_blocks.h"
#include "engine/device/cuda_synchronize.h"
#include "engine/operation_scope.h"

namespace heddle::device {
namespace {

/// The GPU of the operation that the calling thread is in.
CudaGpu& gpu_of_operation(const char* what) {
  const detail::OperationScope* const scope = detail::OperationScope::current();
  CudaGpu* const gpu = scope != nullptr ? cuda_gpu_of(scope->device()) : nullptr;
  if (gpu != nullptr) return *gpu;
  throw Error("[" + std::string(what) + "] called " +
              (scope != nullptr ? "in an operation on " + scope->device().str()
                                : std::string("outside of operations")) +
              ": expected an operation on a CUDA device");
}

}  // namespace

CudaLaunch::CudaLaunch(const char* what)
    : what_(what),
      stream_(CudaStream::current()),
      gpu_(stream_ != nullptr ? stream_->gpu() : gpu_of_operation(what)),
      current_(gpu_) {
  gpu_.check_usable();
  // What the thread met before is not this step's; it was returned to whoever called.
  static_cast<void>(cudaGetLastError());
}

CudaLaunch::~CudaLaunch() {
  if (stream_ != nullptr || finished_) return;
  static_cast<void>(cuda_synchronize(stream()));
  static_cast<void>(cudaGetLastError());
  for (UniqueFunction<void()>& action : actions_) {
    try {
      action();
    } catch (...) {
      // The exception that is on its way says more.
    }
  }
}

void* CudaLaunch::scratch(std::size_t bytes) {
  if (stream_ != nullptr && stream_->keeps_order() && gpu_.frees_early()) {
    return stream_->scratch(bytes);
  }
  reserve_end();  // or the block would be lost
  void* const block = gpu_.early_blocks().allocate(bytes);
  at_end([pool = &gpu_.memory(), block, bytes] { pool->deallocate(block, bytes); });
  return block;
}

void CudaLaunch::at_end(UniqueFunction<void()> action) {
  if (stream_ != nullptr) {
    stream_->at_end(std::move(action));
  } else {
    actions_.push_back(std::move(action));
  }
}

void CudaLaunch::reserve_end() {
  if (stream_ != nullptr) {
    stream_->reserve_end();
  } else {
    actions_.reserve(actions_.size() + 1);
  }
}

std::shared_ptr<void>& CudaLaunch::attachment() const {
  if (stream_ != nullptr) return stream_->attachment();
  // Leaked with the thread: at its end CUDA may be gone.
  thread_local auto* const attachments = new std::array<std::shared_ptr<void>, CudaGpu::kMaxGpus>;
  return (*attachments)[static_cast<std::size_t>(gpu_.index())];
}

void CudaLaunch::fail(const std::string& text) const {
  throw DeviceError("[cuda:" + std::to_string(gpu_.index()) + "] " + what_ + ": " + text);
}

void CudaLaunch::finish() {
  check(cudaGetLastError(), what_);
  if (stream_ != nullptr) return;
  check(cuda_synchronize(stream()), what_);
  finished_ = true;
  std::exception_ptr error;
  for (UniqueFunction<void()>& action : actions_) {
    try {
      action();
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace heddle::device
