#include "engine/device/cuda_graphs.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace heddle::device {

std::unique_ptr<CudaGraphs> CudaGraphs::make(CudaGpu& gpu, std::shared_ptr<CudaTimeline> timeline) {
  cudaStream_t stream = nullptr;
  if (cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                   gpu.stream_priority(Lane::kCompute)) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  return std::unique_ptr<CudaGraphs>(new CudaGraphs(gpu, std::move(timeline), stream));
}

CudaGraphs::CudaGraphs(CudaGpu& gpu, std::shared_ptr<CudaTimeline> timeline, cudaStream_t stream)
    : gpu_(gpu), timeline_(std::move(timeline)), stream_(stream) {}

CudaGraphs::~CudaGraphs() {
  for (const Graph& graph : graphs_) destroy(graph.executable);
  static_cast<void>(cudaStreamDestroy(stream_));
  static_cast<void>(cudaGetLastError());
}

void CudaGraphs::destroy(cudaGraphExec_t executable) noexcept {
  if (executable == nullptr || cudaGraphExecDestroy(executable) == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
}

bool CudaGraphs::open(RecordedPlace first) {
  if (std::find(refused_.begin(), refused_.end(), first.program) != refused_.end()) return false;
  drop_some();
  find(first);
  refused_.reserve(refused_.size() + 1);
  const cudaError_t result = begin_capture();
  if (result == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  refuse();
  return false;
}

/// What is, or was to be, captured.
void CudaGraphs::refuse() noexcept {
  const std::uint64_t program = graphs_.back().first.program;
  if (refused_.size() < refused_.capacity()) refused_.push_back(program);
}

bool CudaGraphs::open_again() noexcept {
  if (gpu_.is_lost()) return false;
  const cudaError_t result = begin_capture();
  if (result == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  gpu_.lose(result, "cudaStreamBeginCapture");  // what the work enqueues on would run at once
  return false;
}

cudaError_t CudaGraphs::begin_capture() noexcept {
  // Whatever other threads do meanwhile, and the pool of memory in this one, is not captured.
  const cudaError_t result = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed);
  is_open_ = result == cudaSuccess;
  return result;
}

/// Has the graph that began there, or a new one, be the last of graphs_.
void CudaGraphs::find(RecordedPlace first) {
  graphs_.reserve(graphs_.size() + 2);  // for one that replaces another, too
  const auto found = std::find_if(graphs_.begin(), graphs_.end(),
                                  [first](const Graph& graph) { return graph.first == first; });
  if (found == graphs_.end()) {
    graphs_.push_back({.first = first});
  } else {
    std::rotate(found, std::next(found), graphs_.end());
  }
}

void CudaGraphs::drop_some() {
  for (auto graph = graphs_.begin(); graph != graphs_.end() && graphs_.size() > kMostKept;) {
    if (graph->last > timeline_->reached()) {
      ++graph;
      continue;
    }
    destroy(graph->executable);
    graph = graphs_.erase(graph);
  }
}

std::exception_ptr CudaGraphs::launch(cudaStream_t stream, std::uint64_t last) noexcept {
  is_open_ = false;
  cudaGraph_t captured = nullptr;
  const char* call = "cudaStreamEndCapture";
  cudaError_t result = cudaStreamEndCapture(stream_, &captured);
  if (result == cudaSuccess && !gpu_.is_lost()) result = launch(captured, stream, last, call);
  if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
  if (result == cudaSuccess || gpu_.is_lost()) return nullptr;
  refuse();
  try {
    const std::string text =
        std::string(call) +
        " of what recorded operations enqueued (HEDDLE_CUDA_GRAPHS=0 enqueues it without graphs)";
    gpu_.check(result, text.c_str());
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

cudaError_t CudaGraphs::launch(cudaGraph_t captured, cudaStream_t stream, std::uint64_t last,
                               const char*& call) noexcept {
  std::size_t nodes = 0;
  call = "cudaGraphGetNodes";
  if (const cudaError_t result = cudaGraphGetNodes(captured, nullptr, &nodes);
      result != cudaSuccess || nodes == 0) {
    return result;
  }
  if (!update(graphs_.back(), captured)) {
    call = "cudaGraphInstantiate";
    cudaGraphExec_t made = nullptr;
    const cudaError_t result = cudaGraphInstantiate(&made, captured, 0);
    if (result != cudaSuccess) return result;
    replace(made);
  }
  Graph& graph = graphs_.back();
  call = "cudaGraphLaunch";
  const cudaError_t result = cudaGraphLaunch(graph.executable, stream);
  if (result == cudaSuccess) graph.last = last;
  return result;
}

bool CudaGraphs::update(const Graph& graph, cudaGraph_t captured) noexcept {
  if (graph.executable == nullptr) return false;
  cudaGraphExecUpdateResultInfo info{};
  if (cudaGraphExecUpdate(graph.executable, captured, &info) == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // it has another shape than that of the last run
  return false;
}

/// Of the last of graphs_, which may be in use.
void CudaGraphs::replace(cudaGraphExec_t made) noexcept {
  Graph& graph = graphs_.back();
  const Graph replaced{.first = {}, .executable = graph.executable, .last = graph.last};
  graph.executable = made;
  if (replaced.executable != nullptr) graphs_.insert(graphs_.begin(), replaced);
}

}  // namespace heddle::device
