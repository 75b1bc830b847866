#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include <cuda_runtime_api.h>

namespace bench::overlap::by_hand {

/// How long a real GPU needs for pieces of work, each of which runs alone. Belongs to one thread.
class Stopwatch {
 public:
  /// For a stream of the current GPU.
  explicit Stopwatch(cudaStream_t stream);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Blocks until what `enqueue` enqueues on the stream has ended, and returns how many nanoseconds
  /// that took. The stream does not move while `enqueue` runs, which therefore must not wait for
  /// the GPU in any way.
  std::int64_t time(const std::function<void()>& enqueue);

 private:
  const cudaStream_t stream_;
  const cudaEvent_t begin_;
  const cudaEvent_t end_;
  std::atomic<bool> open_{false};
};

}  // namespace bench::overlap::by_hand
