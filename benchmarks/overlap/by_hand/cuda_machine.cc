// Real GPUs by hand: streams and events of CUDA's runtime, cuBLAS, and the operators' formulas.

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include <cuda_runtime_api.h>

#include "engine/device/registry.h"
#include "overlap/by_hand/cuda_blas.h"
#include "overlap/by_hand/cuda_check.h"
#include "overlap/by_hand/cuda_kernels.h"
#include "overlap/by_hand/cuda_stopwatch.h"
#include "overlap/by_hand/machine.h"

namespace bench::overlap::by_hand {
namespace {

namespace device = heddle::device;
using heddle::Device;
using heddle::Lane;
using heddle::OpRecord;
using heddle::ops::MatmulSizes;

/// Its number among the real ones.
int index_of(Device gpu) {
  const device::LogicalGpu& logical =
      device::logical_gpu_table()[static_cast<std::size_t>(gpu.id())];
  return std::get<device::CudaSpec>(logical).index;
}

/// Makes the real GPU behind a logical one the thread's current one.
void use(Device gpu) { check(cudaSetDevice(index_of(gpu)), "cudaSetDevice"); }

/// The first logical GPU on the same real one.
Device first_sharer(Device gpu) {
  int id = 0;
  while (index_of(Device::gpu(id)) != index_of(gpu)) ++id;
  return Device::gpu(id);
}

struct Destroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using StreamHandle = std::unique_ptr<CUstream_st, Destroy>;

/// On the current GPU.
StreamHandle new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0),
        "cudaStreamCreateWithPriority");
  return StreamHandle(stream);
}

class CudaStream final : public Stream {
 public:
  /// The GPU is the current one.
  CudaStream(Device gpu, Lane lane, const std::vector<cudaEvent_t>& events, const bool& alone)
      : gpu_(gpu),
        lane_(lane),
        events_(events),
        alone_(alone),
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
  void multiply(const MatmulSizes& sizes, const Buffer& a, const Buffer& b,
                const Buffer& out) override {
    enqueue("dot", [&] { blas_.multiply(sizes, a.data, b.data, out.data, /*accumulate=*/false); });
  }
  void combine(Combination how, const Buffer& a, const Buffer& b, const Buffer& out) override {
    enqueue("combine", [&] { launch_combine(stream_.get(), how, a, b, out); });
  }
  void relu(const Buffer& x, const Buffer& out) override {
    enqueue("relu", [&] { launch_relu(stream_.get(), x, out); });
  }
  void fully_connected(const MatmulSizes& sizes, const Buffer& x, const Buffer& weight,
                       const Buffer& bias, const Buffer& out) override {
    enqueue("fully_connected", [&] {
      launch_rows_of(stream_.get(), bias, out);
      blas_.multiply(sizes, x.data, weight.data, out.data, /*accumulate=*/true);
    });
  }
  void weight_gradient(const MatmulSizes& sizes, const Buffer& grad, const Buffer& x,
                       const Buffer& weight, const Buffer& bias) override {
    enqueue("weight_gradient", [&] {
      launch_sum_of_rows(stream_.get(), grad, bias);
      blas_.multiply(sizes, grad.data, x.data, weight.data, /*accumulate=*/false);
    });
  }
  void loss_gradient(const Buffer& logits, const Buffer& labels, const Buffer& out) override {
    enqueue("loss_gradient", [&] { launch_loss_gradient(stream_.get(), logits, labels, out); });
  }
  void update(const Buffer& first, const Buffer& second, const Buffer& weight, double lr) override {
    enqueue("update", [&] { launch_update(stream_.get(), first, second, weight, lr); });
  }

  void synchronize() const { check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); }

  void take_records(std::vector<OpRecord>& records) {
    records.insert(records.end(), records_.begin(), records_.end());
    records_.clear();
  }

 private:
  template <class Work>
  void enqueue(const char* name, Work work) {
    use(gpu_);
    if (!alone_) {
      work();
    } else {
      synchronize();  // behind what it waits for
      add_record(name, stopwatch_.time(work));
    }
    check(cudaGetLastError(), name);
  }

  void add_record(const char* name, std::int64_t ns) {
    OpRecord& record = records_.emplace_back();
    record.name = name;
    record.device = first_sharer(gpu_);
    record.lane = lane_;
    record.started = std::exchange(now_ns_, now_ns_ + ns);
    record.done = now_ns_;
  }

  const Device gpu_;
  const Lane lane_;
  const std::vector<cudaEvent_t>& events_;
  const bool& alone_;
  const StreamHandle stream_;
  const CuBlas blas_;
  Stopwatch stopwatch_;
  std::int64_t now_ns_ = 0;
  std::vector<OpRecord> records_;
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
    return streams_.emplace_back(gpu, lane, events_, alone_);
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
    copy_now(block, values.data(), bytes);
    return buffers_.back();
  }

  void synchronize() override {
    for (const CudaStream& stream : streams_) stream.synchronize();
  }

  std::vector<float> read(const Buffer& buffer) override {
    std::vector<float> values(static_cast<std::size_t>(buffer.size));
    copy_now(values.data(), buffer.data, values.size() * sizeof(float));
    return values;
  }

  std::vector<OpRecord> take_records() override {
    std::vector<OpRecord> records;
    for (CudaStream& stream : streams_) stream.take_records(records);
    return records;
  }

  void run_alone(bool alone) override { alone_ = alone; }

 private:
  static void copy_now(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamPerThread),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
  }

  /// Lets each GPU reach the others' memory, where it can.
  static void enable_peers() {
    for (int i = 0; i < heddle::num_gpus(); ++i) {
      use(Device::gpu(i));
      for (int other = 0; other < heddle::num_gpus(); ++other) {
        cudaDeviceEnablePeerAccess(index_of(Device::gpu(other)), 0);
        cudaGetLastError();  // the same GPU, or one that it reaches already, or cannot
      }
    }
  }

  bool alone_ = false;
  std::vector<cudaEvent_t> events_;
  std::vector<Buffer> buffers_;
  std::deque<CudaStream> streams_;
};

}  // namespace

std::unique_ptr<Machine> make_cuda_machine() { return std::make_unique<CudaMachine>(); }

}  // namespace bench::overlap::by_hand
