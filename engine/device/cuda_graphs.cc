#include "engine/device/cuda_graphs.h"

#include <algorithm>
#include <utility>

namespace heddle::device {

std::unique_ptr<CudaGraphs> CudaGraphs::make(CudaGpu& gpu, std::shared_ptr<CudaTimeline> timeline) {
  std::unique_ptr<CudaGraphs> graphs(new CudaGraphs(gpu, std::move(timeline)));
  if (cudaStreamCreateWithPriority(&graphs->stream_, cudaStreamNonBlocking,
                                   gpu.stream_priority(Lane::kCompute)) == cudaSuccess) {
    return graphs;
  }
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

CudaGraphs::CudaGraphs(CudaGpu& gpu, std::shared_ptr<CudaTimeline> timeline)
    : gpu_(gpu), timeline_(std::move(timeline)) {}

CudaGraphs::~CudaGraphs() {
  for (const Graph& graph : graphs_) destroy(graph.executable);
  for (const Graph& graph : replaced_) destroy(graph.executable);
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  static_cast<void>(cudaGetLastError());
}

void CudaGraphs::destroy(cudaGraphExec_t executable) noexcept {
  if (executable == nullptr || cudaGraphExecDestroy(executable) == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
}

bool CudaGraphs::open(RecordedPlace first) {
  if (std::find(refused_.begin(), refused_.end(), first.program) != refused_.end()) return false;
  ++opens_;
  drop_replaced();
  refused_.reserve(refused_.size() + 1);
  if (!find(first)) return false;
  const cudaError_t result = begin_capture();
  if (result == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());
  refuse();
  return false;
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
  culprit_.clear();
  // Whatever other threads do meanwhile, and the pool of memory in this one, is not captured.
  const cudaError_t result = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed);
  is_open_ = result == cudaSuccess;
  return result;
}

/// Has the graph that began there, or a new one, be the last of graphs_, if there is room for it.
bool CudaGraphs::find(RecordedPlace first) {
  const auto found = std::find_if(graphs_.begin(), graphs_.end(),
                                  [first](const Graph& graph) { return graph.first == first; });
  if (found != graphs_.end()) {
    std::rotate(found, std::next(found), graphs_.end());
  } else if (make_room()) {
    graphs_.push_back({.first = first});
  } else {
    return false;
  }
  graphs_.back().used = opens_;
  return true;
}

bool CudaGraphs::make_room() {
  if (graphs_.size() < kMostKept) return true;
  // Pieces that take turns would else take the places of each other, each time.
  const auto is_idle = [this](const Graph& graph) {
    return opens_ - graph.used > 2 * kMostKept && is_unused(graph);
  };
  if (!is_idle(graphs_.front())) return false;
  destroy(graphs_.front().executable);
  graphs_.erase(graphs_.begin());
  return true;
}

void CudaGraphs::drop_replaced() noexcept {
  std::erase_if(replaced_, [this](const Graph& graph) {
    if (!is_unused(graph)) return false;
    destroy(graph.executable);
    return true;
  });
}

/// What is, or was to be, captured.
void CudaGraphs::refuse() noexcept {
  if (refused_.size() < refused_.capacity()) refused_.push_back(graphs_.back().first.program);
}

bool CudaGraphs::is_spoilt_by(const Work& work) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (!is_open_) return false;
  if (cudaStreamIsCapturing(stream_, &status) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
  if (status != cudaStreamCaptureStatusInvalidated) return false;
  try {
    culprit_ = "operation '" + std::string(work.name) + "' #" + std::to_string(work.sequence);
  } catch (const std::bad_alloc&) {  // nobody is named
  }
  return true;
}

std::exception_ptr CudaGraphs::launch(cudaStream_t stream, std::uint64_t last) noexcept {
  is_open_ = false;
  cudaGraph_t captured = nullptr;
  const char* call = "cudaStreamEndCapture";
  cudaError_t result = cudaStreamEndCapture(stream_, &captured);
  if (result == cudaSuccess && !gpu_.is_lost()) result = launch(captured, stream, last, call);
  if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
  if (result == cudaSuccess || gpu_.is_lost()) return nullptr;
  if (result != cudaErrorMemoryAllocation) refuse();
  return explain(result, call);
}

std::exception_ptr CudaGraphs::explain(cudaError_t result, const char* call) noexcept try {
  std::string text = std::string(call) + " of what recorded operations enqueued";
  if (!culprit_.empty()) text += ", of which " + culprit_ + " cannot be captured";
  text += " (HEDDLE_CUDA_GRAPHS=0 enqueues them without graphs)";
  gpu_.check(result, text.c_str());
  return nullptr;
} catch (...) {
  return std::current_exception();
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
    if (const cudaError_t result = instantiate(captured); result != cudaSuccess) return result;
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

cudaError_t CudaGraphs::instantiate(cudaGraph_t captured) noexcept {
  Graph& graph = graphs_.back();
  try {
    replaced_.reserve(replaced_.size() + 1);
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  }
  cudaGraphExec_t made = nullptr;
  cudaError_t result = cudaGraphInstantiate(&made, captured, 0);
  if (result == cudaErrorMemoryAllocation) {  // what the pool has in reserve may do
    static_cast<void>(cudaGetLastError());
    gpu_.memory().trim();
    result = cudaGraphInstantiate(&made, captured, 0);
  }
  if (result != cudaSuccess) return result;
  if (graph.executable != nullptr) replaced_.push_back(graph);
  graph.executable = made;
  return cudaSuccess;
}

}  // namespace heddle::device
