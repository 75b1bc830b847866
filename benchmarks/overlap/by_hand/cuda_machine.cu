// Real GPUs by hand: streams and events of CUDA's runtime, cuBLAS, and the operators' formulas.

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <cuda_runtime_api.h>

#include "engine/device/cuda_for_each.h"
#include "engine/device/registry.h"
#include "ops/formulas.h"
#include "overlap/by_hand/cuda_blas.h"
#include "overlap/by_hand/machine.h"
#include "overlap/script.h"

namespace bench::overlap::by_hand {
namespace {

namespace device = heddle::device;
using heddle::Device;
using heddle::Lane;
using heddle::OpRecord;

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw heddle::DeviceError("[bench_overlap] " + std::string(call) + ": " +
                            cudaGetErrorString(result));
}

/// Makes the real GPU behind a logical one the thread's current one.
void use(Device gpu) {
  const device::LogicalGpu& logical =
      device::logical_gpu_table()[static_cast<std::size_t>(gpu.id())];
  check(cudaSetDevice(std::get<device::CudaSpec>(logical).index), "cudaSetDevice");
}

struct Destroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using StreamHandle = std::unique_ptr<CUstream_st, Destroy>;

// On the current GPU.

StreamHandle new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamHandle(stream);
}

cudaEvent_t new_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return event;
}

std::int64_t elapsed_ns(cudaEvent_t from, cudaEvent_t to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
  return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

void launch_maximum(cudaStream_t stream, const Buffer& a, const Buffer& b, const Buffer& out) {
  const auto body = [x = a.data, y = b.data, to = out.data] __device__(std::int64_t i) {
    to[i] = heddle::ops::maximum_formula::apply(x[i], y[i]);
  };
  const unsigned blocks = device::cuda_blocks(out.size, device::kCudaThreads);
  device::cuda_for_each_kernel<<<blocks, device::kCudaThreads, 0, stream>>>(out.size, body);
  check(cudaGetLastError(), "maximum");
}

/// When each piece of work began and ended, by events around it. Those are used again.
class Stopwatch {
 public:
  /// On the current GPU, whose stream that is.
  explicit Stopwatch(cudaStream_t stream) : stream_(stream), origin_(new_event(cudaEventDefault)) {
    check(cudaEventRecord(origin_, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(origin_), "cudaEventSynchronize");
    origin_ns_ =
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  ~Stopwatch() {
    cudaEventDestroy(origin_);
    for (const Lap& lap : laps_) {
      cudaEventDestroy(lap.begin);
      cudaEventDestroy(lap.end);
    }
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void begin(const char* name) {
    if (used_ == laps_.size()) {
      laps_.push_back({nullptr, new_event(cudaEventDefault), new_event(cudaEventDefault)});
    }
    laps_[used_].name = name;
    check(cudaEventRecord(laps_[used_].begin, stream_), "cudaEventRecord");
  }
  void end() { check(cudaEventRecord(laps_[used_++].end, stream_), "cudaEventRecord"); }

  void take_records(Device gpu, Lane lane, std::vector<OpRecord>& records) {
    for (std::size_t i = 0; i < used_; ++i) {
      OpRecord& record = records.emplace_back();
      record.name = laps_[i].name;
      record.device = gpu;
      record.lane = lane;
      record.started = origin_ns_ + elapsed_ns(origin_, laps_[i].begin);
      record.done = record.started + elapsed_ns(laps_[i].begin, laps_[i].end);
    }
    used_ = 0;
  }

 private:
  struct Lap {
    const char* name;
    cudaEvent_t begin, end;
  };

  const cudaStream_t stream_;
  const cudaEvent_t origin_;
  std::int64_t origin_ns_ = 0;
  std::vector<Lap> laps_;
  std::size_t used_ = 0;
};

class CudaStream final : public Stream {
 public:
  /// The GPU is the current one.
  CudaStream(Device gpu, Lane lane, const std::vector<cudaEvent_t>& events)
      : gpu_(gpu),
        lane_(lane),
        events_(events),
        stream_(new_stream()),
        blas_(stream_.get()),
        stopwatch_(stream_.get()) {}

  void wait(Event event) override {
    check(cudaStreamWaitEvent(stream_.get(), events_[static_cast<std::size_t>(event)], 0),
          "cudaStreamWaitEvent");
  }
  void record(Event event) override {
    check(cudaEventRecord(events_[static_cast<std::size_t>(event)], stream_.get()),
          "cudaEventRecord");
  }

  void copy(const Buffer& from, const Buffer& to) override {
    enqueue("copy", [&] {
      const std::size_t bytes = static_cast<std::size_t>(to.size) * sizeof(float);
      check(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDefault, stream_.get()),
            "cudaMemcpyAsync");
    });
  }
  void multiply(const Buffer& a, const Buffer& b, const Buffer& out) override {
    enqueue("dot", [&] { blas_.multiply(kSide, a.data, b.data, out.data); });
  }
  void maximum(const Buffer& a, const Buffer& b, const Buffer& out) override {
    enqueue("maximum", [&] { launch_maximum(stream_.get(), a, b, out); });
  }

  void synchronize() const { check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); }
  void take_records(std::vector<OpRecord>& records) {
    stopwatch_.take_records(gpu_, lane_, records);
  }

 private:
  template <class Work>
  void enqueue(const char* name, Work work) {
    use(gpu_);
    stopwatch_.begin(name);
    work();
    stopwatch_.end();
  }

  const Device gpu_;
  const Lane lane_;
  const std::vector<cudaEvent_t>& events_;
  const StreamHandle stream_;
  const CuBlas blas_;
  Stopwatch stopwatch_;
};

class CudaMachine final : public Machine {
 public:
  CudaMachine() { enable_peers(); }
  ~CudaMachine() override {
    streams_.clear();
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    for (const Buffer& buffer : buffers_) {
      buffer.device.is_gpu() ? cudaFree(buffer.data) : cudaFreeHost(buffer.data);
    }
  }
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;

  Stream& make_stream(Device gpu, Lane lane) override {
    use(gpu);
    return streams_.emplace_back(gpu, lane, events_);
  }

  Event make_event(Device gpu) override {
    use(gpu);
    events_.push_back(new_event(cudaEventDisableTiming));
    return Event{events_.size() - 1};
  }

  Buffer make_buffer(Device device, std::span<const float> values) override {
    const std::size_t bytes = values.size_bytes();
    void* block = nullptr;
    if (device.is_gpu()) {
      use(device);
      check(cudaMalloc(&block, bytes), "cudaMalloc");
    } else {
      check(cudaHostAlloc(&block, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    }
    buffers_.push_back(
        {static_cast<float*>(block), static_cast<std::int64_t>(values.size()), device});
    check(cudaMemcpy(block, values.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return buffers_.back();
  }

  void synchronize() override {
    for (const CudaStream& stream : streams_) stream.synchronize();
  }

  std::vector<float> read(const Buffer& buffer) override {
    std::vector<float> values(static_cast<std::size_t>(buffer.size));
    check(cudaMemcpy(values.data(), buffer.data, values.size() * sizeof(float), cudaMemcpyDefault),
          "cudaMemcpy");
    return values;
  }

  std::vector<OpRecord> take_records() override {
    std::vector<OpRecord> records;
    for (CudaStream& stream : streams_) stream.take_records(records);
    return records;
  }

 private:
  /// Lets each GPU reach the others' memory, where it can.
  static void enable_peers() {
    const auto gpus = device::logical_gpu_table();
    for (int i = 0; i < static_cast<int>(gpus.size()); ++i) {
      use(Device::gpu(i));
      for (const device::LogicalGpu& other : gpus) {
        cudaDeviceEnablePeerAccess(std::get<device::CudaSpec>(other).index, 0);
        cudaGetLastError();  // the same GPU, or one that it reaches already, or cannot
      }
    }
  }

  std::vector<cudaEvent_t> events_;
  std::vector<Buffer> buffers_;
  std::deque<CudaStream> streams_;
};

}  // namespace

std::unique_ptr<Machine> make_cuda_machine() { return std::make_unique<CudaMachine>(); }

}  // namespace bench::overlap::by_hand
