#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

// What is written without heddle: streams, memory and graphs of CUDA's runtime, on the first GPU.
// All of it throws heddle::DeviceError for what CUDA refuses, and none of it may be used by two
// threads at a time.

namespace bench::gpu::by_hand {

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t handle() const { return handle_; }
  /// Blocks until everything enqueued has ended.
  void synchronize() const;

 private:
  cudaStream_t handle_ = nullptr;
};

/// A block of device memory. Copies to and from it block.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  explicit Memory(std::span<const float> values);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return block_; }
  float* floats() const { return static_cast<float*>(block_); }
  std::vector<float> to_floats() const;

 private:
  friend class Counters;
  void write(const void* from) const;
  void read(void* to) const;

  std::size_t bytes_;
  void* block_ = nullptr;
};

/// Numbers in device memory, 0 at first, for launch_tick().
class Counters {
 public:
  explicit Counters(std::size_t count);

  unsigned* at(std::size_t index) const { return static_cast<unsigned*>(memory_.data()) + index; }
  /// Blocks. What was counted since the last call. Nothing that counts may be under way.
  std::vector<unsigned> take();

 private:
  std::vector<unsigned> last_;
  Memory memory_;
};

/// A graph of what a function enqueues.
class Graph {
 public:
  using Enqueue = std::function<void(cudaStream_t)>;

  explicit Graph(Enqueue enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(const Stream& stream) const;
  /// Captures what the function enqueues now, for the launches that follow. Its shape must be the
  /// same.
  void update();

 private:
  cudaGraph_t capture();

  Stream capturing_;
  Enqueue enqueue_;
  cudaGraphExec_t executable_ = nullptr;
};

/// Records events, a few of which take turns.
class Events {
 public:
  Events();
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void record(const Stream& stream);

 private:
  std::vector<cudaEvent_t> events_;
  std::size_t next_ = 0;
};

}  // namespace bench::gpu::by_hand
