#include "overlap/by_hand/cuda_stopwatch.h"

#include "overlap/by_hand/cuda_check.h"

namespace bench::overlap::by_hand {
namespace {

/// Holds a stream back until it goes.
class Gate {
 public:
  Gate(cudaStream_t stream, std::atomic<bool>& open) : open_(open) {
    open_ = false;
    const auto pass = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); };
    check(cudaLaunchHostFunc(stream, pass, &open_), "cudaLaunchHostFunc");
  }
  ~Gate() {
    open_ = true;
    open_.notify_all();
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  std::atomic<bool>& open_;
};

}  // namespace

Stopwatch::Stopwatch(cudaStream_t stream)
    : stream_(stream), begin_(new_event(cudaEventDefault)), end_(new_event(cudaEventDefault)) {}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

std::int64_t Stopwatch::time(const std::function<void()>& enqueue) {
  {
    // The GPU goes through the work when all of it is there: else the time that it takes to enqueue
    // could count as the GPU's.
    const Gate gate(stream_, open_);
    check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
    enqueue();
    check(cudaEventRecord(end_, stream_), "cudaEventRecord");
  }
  check(cudaEventSynchronize(end_), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
  return static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace bench::overlap::by_hand
