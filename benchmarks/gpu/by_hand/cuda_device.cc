#include "gpu/by_hand/cuda_device.h"

#include <utility>

#include "overlap/by_hand/cuda_check.h"

namespace bench::gpu::by_hand {

using overlap::by_hand::check;

Stream::Stream() {
  check(cudaStreamCreateWithPriority(&handle_, cudaStreamNonBlocking, 0),
        "cudaStreamCreateWithPriority");
}

Stream::~Stream() { cudaStreamDestroy(handle_); }

void Stream::synchronize() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&block_, bytes), "cudaMalloc");
}

Memory::Memory(std::span<const float> values) : Memory(values.size_bytes()) {
  write(values.data());
}

Memory::~Memory() { cudaFree(block_); }

void Memory::write(const void* from) const {
  check(cudaMemcpyAsync(block_, from, bytes_, cudaMemcpyHostToDevice, cudaStreamPerThread),
        "cudaMemcpyAsync to the device");
  check(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
}

void Memory::read(void* to) const {
  check(cudaMemcpyAsync(to, block_, bytes_, cudaMemcpyDeviceToHost, cudaStreamPerThread),
        "cudaMemcpyAsync to the host");
  check(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
}

std::vector<float> Memory::to_floats() const {
  std::vector<float> values(bytes_ / sizeof(float));
  read(values.data());
  return values;
}

Counters::Counters(std::size_t count) : last_(count), memory_(count * sizeof(unsigned)) {
  memory_.write(last_.data());
}

std::vector<unsigned> Counters::take() {
  std::vector<unsigned> now(last_.size());
  memory_.read(now.data());
  std::vector<unsigned> counted(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) counted[i] = now[i] - last_[i];
  last_ = std::move(now);
  return counted;
}

Graph::Graph(Enqueue enqueue) : enqueue_(std::move(enqueue)) {
  const cudaGraph_t captured = capture();
  check(cudaGraphInstantiate(&executable_, captured, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(captured), "cudaGraphDestroy");
}

Graph::~Graph() { cudaGraphExecDestroy(executable_); }

cudaGraph_t Graph::capture() {
  check(cudaStreamBeginCapture(capturing_.handle(), cudaStreamCaptureModeRelaxed),
        "cudaStreamBeginCapture");
  enqueue_(capturing_.handle());
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(capturing_.handle(), &captured), "cudaStreamEndCapture");
  return captured;
}

void Graph::launch(const Stream& stream) const {
  check(cudaGraphLaunch(executable_, stream.handle()), "cudaGraphLaunch");
}

void Graph::update() {
  const cudaGraph_t captured = capture();
  cudaGraphExecUpdateResultInfo info{};
  check(cudaGraphExecUpdate(executable_, captured, &info), "cudaGraphExecUpdate");
  check(cudaGraphDestroy(captured), "cudaGraphDestroy");
}

Events::Events() : events_(64) {
  for (cudaEvent_t& event : events_) event = overlap::by_hand::new_event(cudaEventDisableTiming);
}

Events::~Events() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

void Events::record(const Stream& stream) {
  check(cudaEventRecord(events_[next_], stream.handle()), "cudaEventRecord");
  next_ = (next_ + 1) % events_.size();
}

}  // namespace bench::gpu::by_hand
