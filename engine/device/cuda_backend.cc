#include "engine/device/cuda_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "heddle/cuda.h"
#include "heddle/engine.h"
#include "heddle/error.h"
#include "heddle/unique_function.h"

#include "engine/device/cuda_completion.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/cuda_early_blocks.h"
#include "engine/device/cuda_free_stream.h"
#include "engine/device/cuda_launch.h"
#include "engine/device/cuda_memory.h"
#include "engine/device/cuda_stream.h"
#include "engine/device/deferred_call.h"
#include "engine/fork.h"
#include "engine/runtime.h"

namespace heddle::device {
namespace {

/// Pageable memory of so many bytes is copied by the host to or from pinned memory, so that nobody
/// waits for the GPU. With more, that would take longer than to let CUDA do it, which blocks.
constexpr std::size_t kStaged = std::size_t{4} << 20U;

bool is_pinned(const void* host) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, host) == cudaSuccess) {
    return attributes.type == cudaMemoryTypeHost;
  }
  static_cast<void>(cudaGetLastError());
  return false;
}

/// Whether CUDA copies to or from the memory itself. While it blocks others look at streams.
bool is_left_to_cuda(const void* host, std::size_t bytes) {
  if (is_pinned(host)) return true;
  if (bytes <= kStaged) return false;
  leave_deferred_calls();
  return true;
}

void upload(CudaLaunch& on, void* to, const void* from, std::size_t bytes) {
  constexpr const char* kCall = "cudaMemcpyAsync to the device";
  if (is_left_to_cuda(from, bytes)) {
    on.check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, on.stream()), kCall);
    return;
  }
  PinnedBuffer staged(bytes);
  std::memcpy(staged.data(), from, bytes);
  const void* const source = staged.data();
  on.at_end([kept = std::move(staged)] {});
  on.check(cudaMemcpyAsync(to, source, bytes, cudaMemcpyHostToDevice, on.stream()), kCall);
}

void download(CudaLaunch& on, void* to, const void* from, std::size_t bytes) {
  constexpr const char* kCall = "cudaMemcpyAsync to the host";
  if (is_left_to_cuda(to, bytes)) {
    on.check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, on.stream()), kCall);
    return;
  }
  PinnedBuffer staged(bytes);
  void* const target = staged.data();
  UniqueFunction<void()> unstage = [to, bytes, kept = std::move(staged)] {
    std::memcpy(to, kept.data(), bytes);
  };
  on.reserve_end();  // once CUDA writes to the buffer nothing may go wrong until it has ended
  on.check(cudaMemcpyAsync(target, from, bytes, cudaMemcpyDeviceToHost, on.stream()), kCall);
  on.at_end(std::move(unstage));
}

void copy_between(CudaLaunch& on, void* to, CudaGpu& to_gpu, const void* from, CudaGpu& from_gpu,
                  std::size_t bytes) {
  if (to_gpu.index() == from_gpu.index()) {
    on.check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, on.stream()),
             "cudaMemcpyAsync within the device");
    return;
  }
  from_gpu.check_usable();
  to_gpu.check_usable();
  to_gpu.enable_peer(from_gpu);
  from_gpu.enable_peer(to_gpu);
  on.check(cudaMemcpyPeerAsync(to, to_gpu.index(), from, from_gpu.index(), bytes, on.stream()),
           "cudaMemcpyPeerAsync");
}

/// CUDA takes itself down with handlers that it registers when it starts. What is registered after
/// that runs before: first the default engine ends what is in flight, then nobody asks any more.
void order_exit_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    static const auto process = detail::current_process();
    std::atexit([] {
      // A fork may have caught the locks in the hands of threads that are not there.
      if (!detail::in_forked_child(process)) CudaCompletion::instance().stop();
    });
    drain_at_exit();
  });
}

}  // namespace

CudaBackend::CudaBackend(int id, CudaGpu& gpu, int sharers)
    : gpu_(gpu),
      quota_("gpu(" + std::to_string(id) + ")",
             gpu.memory_size() / static_cast<std::size_t>(sharers)) {}

std::string CudaBackend::description() const {
  return gpu_.name() + " (cuda:" + std::to_string(gpu_.index()) + ")";
}

void* CudaBackend::allocate(std::size_t bytes) {
  gpu_.check_usable();
  quota_.take(bytes);
  try {
    return take_memory(bytes);
  } catch (const OutOfMemory& of_the_card) {
    quota_.give_back(bytes);
    gpu_.check_usable();  // there is no memory on a lost GPU either
    throw OutOfMemory(quota_.refusal(bytes) + "; " + of_the_card.what());
  } catch (...) {
    quota_.give_back(bytes);
    throw;
  }
}

/// Where the order of this GPU's streams is not kept nothing is early: on another GPU, that may be
/// lost alone, and by what works elsewhere, too.
void* CudaBackend::take_memory(std::size_t bytes) {
  CudaStream* const stream = CudaStream::current();
  const bool may_be_early = stream != nullptr && &stream->gpu() == &gpu_ && stream->keeps_order();
  return gpu_.early_blocks().allocate_for(may_be_early ? stream : nullptr, bytes);
}

void CudaBackend::deallocate(void* block, std::size_t bytes) noexcept {
  quota_.give_back(bytes);
  CudaFreeStream* const frees = CudaFreeStream::current();
  if (frees != nullptr && frees->gives_back_early()) return frees->give_back(gpu_, block, bytes);
  MemoryPool& pool = gpu_.memory();
  CudaStream* const stream = CudaStream::current();
  if (stream == nullptr) return pool.deallocate(block, bytes);
  // It may have been early when this operation took it, or is still used by this one.
  try {
    stream->at_end([&pool, block, bytes] { pool.deallocate(block, bytes); });
  } catch (const std::bad_alloc&) {
    // Without memory to write that down the block stays where it is.
  }
}

bool CudaBackend::frees_early() const { return gpu_.frees_early(); }

MemoryStatistics CudaBackend::memory() const {
  MemoryStatistics statistics = gpu_.memory().statistics();
  statistics.live_bytes = quota_.live_bytes();
  statistics.cached_bytes += gpu_.early_blocks().bytes();
  statistics.largest_bytes = std::min(statistics.largest_bytes, quota_.room());
  return statistics;
}

bool CudaBackend::reads(Device other) const {
  if (!other.is_gpu()) return false;
  const CudaGpu* const gpu = cuda_gpu_of(other);
  return gpu != nullptr && gpu->index() == gpu_.index();
}

void CudaBackend::copy(void* to, Device to_device, const void* from, Device from_device,
                       std::size_t bytes) {
  if (bytes == 0) return;
  CudaLaunch on("copy");
  CudaGpu* const to_gpu = cuda_gpu_of(to_device);
  CudaGpu* const from_gpu = cuda_gpu_of(from_device);
  if (to_gpu != nullptr && from_gpu != nullptr) {
    copy_between(on, to, *to_gpu, from, *from_gpu, bytes);
  } else if (to_gpu != nullptr) {
    upload(on, to, from, bytes);
  } else {
    download(on, to, from, bytes);
  }
  on.finish();
}

std::unique_ptr<Stream> CudaBackend::make_stream(Lane lane, Executor& /*executor*/) {
  return std::make_unique<CudaStream>(gpu_, lane);
}

std::unique_ptr<Stream> CudaBackend::make_free_stream() {
  return frees_early() ? std::make_unique<CudaFreeStream>(gpu_) : nullptr;
}

CudaGpu* cuda_gpu_of(Device device) {
  if (!device.is_gpu()) return nullptr;
  auto* const backend = dynamic_cast<CudaBackend*>(&backend_of(device));
  return backend != nullptr ? &backend->gpu() : nullptr;
}

int cuda_device_count() { return count_cuda_gpus(); }

std::unique_ptr<Backend> make_cuda_device(int id, int index, int sharers) {
  auto backend = std::make_unique<CudaBackend>(id, CudaGpu::get(index), sharers);
  order_exit_handlers();
  return backend;
}

MemoryPool& cuda_pinned_pool() { return pinned_memory(); }

}  // namespace heddle::device

namespace heddle {

CUstream_st* cuda_stream(const RunContext& context) {
  const device::CudaStream* const stream = device::CudaStream::current();
  if (stream != nullptr) return stream->handle();
  throw Error("[cuda_stream] operation #" + std::to_string(context.sequence) + " on " +
              context.device.str() +
              ": expected to be called by the callable of an operation on a CUDA device, on an "
              "engine with streams");
}

}  // namespace heddle
