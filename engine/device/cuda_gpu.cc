#include "engine/device/cuda_gpu.h"

#include <array>
#include <exception>
#include <string>

#include "heddle/error.h"

#include "engine/device/cuda_early_blocks.h"
#include "engine/device/cuda_memory.h"
#include "engine/device/cuda_pages.h"
#include "engine/runtime.h"

namespace heddle::device {
namespace {

std::string describe(int index, cudaError_t error, const char* call) {
  return "[cuda:" + std::to_string(index) + "] " + call + ": " + cudaGetErrorString(error) + " (" +
         cudaGetErrorName(error) + ")";
}

base::Atomic<CudaGpu*> g_first{nullptr};

}  // namespace

int count_cuda_gpus() {
  static const int count = [] {
    int found = 0;
    if (cudaGetDeviceCount(&found) == cudaSuccess) return found;
    static_cast<void>(cudaGetLastError());
    return 0;
  }();
  return count;
}

CudaGpu& CudaGpu::get(int index) {
  static base::Mutex mutex;
  static std::array<CudaGpu*, kMaxGpus> gpus{};
  if (index < 0 || index >= kMaxGpus) {
    throw DeviceError("[cuda:" + std::to_string(index) + "] expected an index below " +
                      std::to_string(kMaxGpus));
  }
  const std::lock_guard lock(mutex);
  CudaGpu*& gpu = gpus[static_cast<std::size_t>(index)];
  if (gpu == nullptr) {
    gpu = new CudaGpu(index);
    CudaGpu* none = nullptr;
    g_first.compare_exchange_strong(none, gpu);
  }
  return *gpu;
}

const CudaGpu& CudaGpu::first() { return *g_first.load(); }

CudaGpu::CudaGpu(int index)
    : index_(index), frees_early_(!resolved_runtime_options().debug_memory) {
  const CudaCurrent current(*this);
  check(cudaFree(nullptr), "start of CUDA");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  check(cudaDeviceGetStreamPriorityRange(&least_priority_, &greatest_priority_),
        "cudaDeviceGetStreamPriorityRange");
  name_ = properties.name;
  memory_size_ = properties.totalGlobalMem;
  pages_ = CudaPages::make(*this);
  memory_ = std::make_unique<MemoryPool>(
      "cuda:" + std::to_string(index), cuda_memory(*this, pages_.get()),
      PoolLimits{.budget = memory_size_, .cache_limit = SIZE_MAX, .fills = !frees_early_});
  early_blocks_ = std::make_unique<CudaEarlyBlocks>(*memory_);
}

int CudaGpu::stream_priority(Lane lane) const {
  // What other devices wait for goes before computing.
  return lane == Lane::kCompute || lane == Lane::kBlocking ? least_priority_ : greatest_priority_;
}

bool CudaGpu::is_sticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorMisalignedAddress:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDeviceUninitialized:
    case cudaErrorDevicesUnavailable:
    case cudaErrorExternalDevice:
    case cudaErrorSystemNotReady:
    case cudaErrorCudartUnloading:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void CudaGpu::check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // so that no later call reports it, too
  if (result == cudaErrorMemoryAllocation) throw OutOfMemory(describe(index_, result, call));
  if (is_sticky(result)) lose(result, call);
  throw DeviceError(describe(index_, result, call));
}

void CudaGpu::check_usable() const {
  if (is_lost()) throw DeviceError(loss_);
}

void CudaGpu::lose(cudaError_t result, const char* call) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_lost_.load(std::memory_order_relaxed)) return;
  try {
    loss_ = describe(index_, result, call) +
            "; the GPU is lost for this process, and what was in flight on it has failed";
  } catch (...) {
    loss_.clear();  // without memory for a text the loss counts all the same
  }
  is_lost_.store(true, std::memory_order_release);
}

std::exception_ptr CudaGpu::loss() const noexcept try {
  return std::make_exception_ptr(DeviceError(loss_));
} catch (...) {
  return std::current_exception();  // no memory for the text
}

void CudaGpu::enable_peer(const CudaGpu& other) noexcept {
  if (other.index_ == index_ || peers_[other.index_].load()) return;
  const std::lock_guard lock(peer_mutex_);
  if (peers_[other.index_].load()) return;
  const CudaCurrent current(*this);
  int possible = 0;
  if (cudaDeviceCanAccessPeer(&possible, index_, other.index_) == cudaSuccess && possible != 0) {
    // Without it copies go through the host: slower, not wrong.
    static_cast<void>(cudaDeviceEnablePeerAccess(other.index_, 0));
    if (other.pages_ != nullptr) other.pages_->let_access(index_);
  }
  static_cast<void>(cudaGetLastError());
  peers_[other.index_].store(true);
}

CudaCurrent::CudaCurrent(const CudaGpu& gpu) noexcept {
  // What fails here fails again in the call that the current device is for.
  if (cudaGetDevice(&previous_) == cudaSuccess && previous_ == gpu.index()) return;
  changed_ = cudaSetDevice(gpu.index()) == cudaSuccess;
}

CudaCurrent::~CudaCurrent() {
  if (changed_) static_cast<void>(cudaSetDevice(previous_));
}

}  // namespace heddle::device
