#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include "engine/device/backend.h"
#include "engine/device/cuda_gpu.h"
#include "engine/device/cuda_timeline.h"

namespace heddle::device {

/// Has what recorded operations enqueue launched as graphs. Their callables are called in each run
/// of the recording, as without graphs, but on a stream that only captures: so addresses, sizes and
/// numbers are those of this run. The graph of the last run is brought up to date with what was
/// captured, which is faster than to launch kernel by kernel, and launched as a whole. What has
/// changed its shape gets a new graph. A recording of which something cannot be captured is not
/// captured again.
///
/// At most kMostKept executable graphs are kept. Where there are more pieces than that, those that
/// have none are not captured, until one was not used for long.
///
/// Thread safety: as a Stream.
///
/// Invariants:
/// - While is_open() the stream captures, and nothing that is enqueued on it runs.
/// - An executable graph is destroyed when everything up to its last launch has left the timeline.
class CudaGraphs {
 public:
  static constexpr std::size_t kMostKept = 64;

  /// For a stream with that timeline; null, with no error left, if CUDA gives no stream. That is
  /// tried once more by the next call.
  static std::unique_ptr<CudaGraphs> make(CudaGpu& gpu, std::shared_ptr<CudaTimeline> timeline);
  ~CudaGraphs();
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;

  /// Captures what is enqueued on it.
  cudaStream_t stream() const { return stream_; }
  bool is_open() const { return is_open_; }

  /// Begins to capture, with work at that place. False if that cannot be captured. Throws
  /// std::bad_alloc, with nothing done.
  bool open(RecordedPlace first);
  /// True if `work`, which was captured last, has done what may not be captured: then all that is
  /// captured with it fails.
  bool is_spoilt_by(const Work& work) noexcept;
  /// Ends the capture, and launches what was captured on `stream`, all of which belongs to pieces
  /// up to `last`. Returns why that could not be done, or null. On a lost GPU it only ends.
  std::exception_ptr launch(cudaStream_t stream, std::uint64_t last) noexcept;
  /// Captures what follows in the work that launch() was called in. False on a lost GPU, which it
  /// is if that cannot be done.
  bool open_again() noexcept;

 private:
  struct Graph {
    RecordedPlace first;
    cudaGraphExec_t executable = nullptr;
    std::uint64_t last = 0;  // piece that was issued when it was launched last
    std::uint64_t used = 0;  // opens_ when it was used last
  };

  CudaGraphs(CudaGpu& gpu, std::shared_ptr<CudaTimeline> timeline);
  static void destroy(cudaGraphExec_t executable) noexcept;
  static bool update(const Graph& graph, cudaGraph_t captured) noexcept;
  bool is_unused(const Graph& graph) const { return graph.last <= timeline_->reached(); }
  bool find(RecordedPlace first);
  bool make_room();
  void drop_replaced() noexcept;
  void refuse() noexcept;
  cudaError_t begin_capture() noexcept;
  cudaError_t instantiate(cudaGraph_t captured) noexcept;
  cudaError_t launch(cudaGraph_t captured, cudaStream_t stream, std::uint64_t last,
                     const char*& call) noexcept;
  std::exception_ptr explain(cudaError_t result, const char* call) noexcept;

  CudaGpu& gpu_;
  const std::shared_ptr<CudaTimeline> timeline_;
  cudaStream_t stream_ = nullptr;
  bool is_open_ = false;
  std::vector<Graph> graphs_;           // in the order of use: the last is what is captured
  std::vector<Graph> replaced_;         // by one of another shape, and perhaps in use
  std::vector<std::uint64_t> refused_;  // programs that could not be captured
  std::uint64_t opens_ = 0;
  std::string culprit_;  // what has spoilt what is captured; empty: nothing
};

}  // namespace heddle::device
