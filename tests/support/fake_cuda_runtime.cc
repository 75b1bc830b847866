#include "tests/support/fake_cuda_runtime.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/fake_cuda_memory.h"
#include "tests/support/fake_cuda_stream.h"

// The calls of CUDA's runtime that engine/device/cuda_* and benchmarks/overlap make, on two GPUs
// made of threads, or as many as HEDDLE_FAKE_CUDA_GPUS says: each stream is a thread that takes its
// time, unless HEDDLE_FAKE_CUDA_QUICK is set. A program that this file is linked into has no other
// runtime. Kernels that nvcc compiled cannot be launched; see emulated_cuda.h.

namespace {

/// One record of an event.
class Point {
 public:
  /// Who waits for it may destroy it after that.
  void reach() {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    when_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }
  bool is_reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
  }
  /// Once it is reached.
  std::chrono::steady_clock::time_point when() {
    const std::lock_guard lock(mutex_);
    return when_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::chrono::steady_clock::time_point when_;
};

}  // namespace

struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<Point> last;  // guarded by mutex; null: never recorded
};

namespace {

struct Memory {
  std::mutex mutex;
  std::map<const char*, std::size_t> pinned;  // guarded by mutex
  std::atomic<std::size_t> used{0};
  std::map<void*, std::size_t> sizes;  // of device blocks, guarded by mutex
};

Memory& memory() {
  static auto* const instance = new Memory;
  return *instance;
}

std::atomic<bool> g_broken{false};
std::function<void()> g_question_watcher;
std::atomic<std::uint64_t> g_synchronizations{0};
std::atomic<std::size_t> g_limit{std::size_t{1} << 40U};
std::atomic<std::size_t> g_size{std::size_t{1} << 38U};
thread_local int t_device = 0;
thread_local cudaError_t t_last = cudaSuccess;

cudaError_t report(cudaError_t result) {
  if (g_broken.load()) result = cudaErrorIllegalAddress;
  if (result != cudaSuccess) t_last = result;
  return result;
}

cudaError_t wait_for_end(cudaStream_t stream) {
  if (stream == cudaStreamPerThread) return report(cudaSuccess);
  if (stream->refuses_while_capturing()) return report(cudaErrorStreamCaptureUnsupported);
  Point point;
  stream->enqueue([&point] { point.reach(); });
  point.wait();
  return report(cudaSuccess);
}

cudaError_t copy_later(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (g_broken.load()) return report(cudaErrorIllegalAddress);
  heddle::support::enqueue_on_fake_cuda(stream,
                                        [to, from, bytes] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

bool is_pinned(const void* block) {
  const auto* const address = static_cast<const char*>(block);
  const std::lock_guard lock(memory().mutex);
  auto next = memory().pinned.upper_bound(address);
  if (next == memory().pinned.begin()) return false;
  --next;
  return address < next->first + next->second;
}

}  // namespace

namespace heddle::support {
void break_fake_cuda() { g_broken.store(true); }
std::uint64_t fake_cuda_synchronizations() { return g_synchronizations.load(); }
void enqueue_on_fake_cuda(CUstream_st* stream, std::function<void()> work) {
  if (stream == cudaStreamPerThread) return work();
  stream->enqueue(std::move(work));
}
void watch_fake_cuda_questions(std::function<void()> watcher) {
  g_question_watcher = std::move(watcher);
}
void limit_fake_cuda_memory(std::size_t bytes) { g_limit.store(bytes); }
bool take_fake_cuda_memory(std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  if (memory().used.load() + bytes > g_limit.load()) return false;
  memory().used += bytes;
  return true;
}
void give_back_fake_cuda_memory(std::size_t bytes) { memory().used -= bytes; }
bool is_fake_cuda_broken() { return g_broken.load(); }
void shrink_fake_cuda(std::size_t bytes) { g_size.store(bytes); }
}  // namespace heddle::support

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  const char* const gpus = std::getenv("HEDDLE_FAKE_CUDA_GPUS");
  *count = gpus != nullptr ? std::atoi(gpus) : 2;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  t_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = cudaDeviceProp{};
  std::strcpy(properties->name, "fake");
  properties->totalGlobalMem = g_size.load();
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
  *possible = 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) { return cudaSuccess; }

cudaError_t cudaGetLastError() { return std::exchange(t_last, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "an illegal memory access was encountered" : "error";
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaErrorOther";
}

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  if (g_broken.load()) return report(cudaErrorIllegalAddress);
  if (!heddle::support::take_fake_cuda_memory(bytes)) return report(cudaErrorMemoryAllocation);
  *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  const std::lock_guard lock(memory().mutex);
  memory().sizes[*block] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* block) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().sizes.find(block);
  if (found != memory().sizes.end()) {
    memory().used -= found->second;
    memory().sizes.erase(found);
  }
  std::free(block);
  return report(cudaSuccess);
}
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned int) {
  *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  const std::lock_guard lock(memory().mutex);
  memory().pinned[static_cast<const char*>(*block)] = bytes;
  return report(cudaSuccess);
}
cudaError_t cudaFreeHost(void* block) {
  const std::lock_guard lock(memory().mutex);
  memory().pinned.erase(static_cast<const char*>(block));
  std::free(block);
  return report(cudaSuccess);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* block) {
  attributes->type = is_pinned(block) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
  return report(cudaSuccess);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) {
  *stream = new CUstream_st;
  return report(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return report(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++g_synchronizations;
  return wait_for_end(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  if (stream->refuses_while_capturing()) return report(cudaErrorStreamCaptureIsolation);
  const std::lock_guard lock(event->mutex);
  if (event->last != nullptr) stream->enqueue([point = event->last] { point->wait(); });
  return report(cudaSuccess);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  stream->enqueue([function, data] { function(data); });
  return report(cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  *event = new CUevent_st;
  return report(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return report(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream->refuses_while_capturing()) return report(cudaErrorStreamCaptureUnsupported);
  auto point = std::make_shared<Point>();
  {
    const std::lock_guard lock(event->mutex);
    event->last = point;
  }
  stream->enqueue([point] { point->reach(); });
  return report(cudaSuccess);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (g_question_watcher) g_question_watcher();
  const std::lock_guard lock(event->mutex);
  return report(event->last == nullptr || event->last->is_reached() ? cudaSuccess
                                                                    : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++g_synchronizations;
  std::shared_ptr<Point> last;
  {
    const std::lock_guard lock(event->mutex);
    last = event->last;
  }
  if (last != nullptr) last->wait();
  return report(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::scoped_lock lock(from->mutex, to->mutex);
  const std::chrono::duration<float, std::milli> time = to->last->when() - from->last->when();
  *milliseconds = time.count();
  return report(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind == cudaMemcpyHostToDevice && !is_pinned(from) && stream != cudaStreamPerThread) {
    // A graph would read the memory when it runs.
    if (stream->refuses_while_capturing()) return report(cudaErrorStreamCaptureUnsupported);
    const auto* const first = static_cast<const char*>(from);
    stream->enqueue([to, copy = std::vector<char>(first, first + bytes)] {
      std::memcpy(to, copy.data(), copy.size());
    });
    return report(cudaSuccess);
  }
  const cudaError_t result = copy_later(to, from, bytes, stream);
  if (kind == cudaMemcpyDeviceToHost && !is_pinned(to)) return wait_for_end(stream);
  return result;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  heddle::support::enqueue_on_fake_cuda(stream,
                                        [to, value, bytes] { std::memset(to, value, bytes); });
  return report(cudaSuccess);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t bytes, std::size_t rows,
                              cudaMemcpyKind, cudaStream_t stream) {
  heddle::support::enqueue_on_fake_cuda(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(static_cast<char*>(to) + row * to_pitch,
                  static_cast<const char*>(from) + row * from_pitch, bytes);
    }
  });
  return report(cudaSuccess);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
  return copy_later(to, from, bytes, stream);
}

// What nvcc's code calls: at the start of the program, and to launch a kernel.

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, CUstream_st*) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) { return cudaSuccess; }
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) { return cudaSuccess; }
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return report(cudaErrorNotSupported);
}

}  // extern "C"
