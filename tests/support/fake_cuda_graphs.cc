// Graphs of the fake runtime: lists of what was captured. A program that destroys an executable
// graph which is not done ends.

#include "tests/support/fake_cuda_graphs.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/support/fake_cuda_memory.h"
#include "tests/support/fake_cuda_stream.h"

struct CUgraph_st {
  std::vector<CUstream_st::Work> nodes;
};

struct CUgraphExec_st {
  std::vector<CUstream_st::Work> nodes;
  std::shared_ptr<std::atomic<int>> in_flight = std::make_shared<std::atomic<int>>(0);
};

namespace {

using heddle::support::CaptureFault;

std::mutex g_mutex;
heddle::support::FakeCudaGraphs g_graphs;  // guarded by g_mutex
std::atomic<CaptureFault> g_fault{CaptureFault::kNone};

cudaError_t usual() {
  return heddle::support::is_fake_cuda_broken() ? cudaErrorIllegalAddress : cudaSuccess;
}

}  // namespace

namespace heddle::support {

FakeCudaGraphs fake_cuda_graphs() {
  const std::lock_guard lock(g_mutex);
  return g_graphs;
}

void fail_fake_cuda_capture(CaptureFault fault) { g_fault.store(fault); }

}  // namespace heddle::support

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (g_fault.load() == CaptureFault::kBegin) return cudaErrorStreamCaptureUnsupported;
  const std::lock_guard lock(stream->mutex);
  if (stream->captured.has_value()) return cudaErrorIllegalState;
  stream->captured.emplace();
  stream->spoilt = false;
  return usual();
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(stream->mutex);
  *status = !stream->captured.has_value() ? cudaStreamCaptureStatusNone
            : stream->spoilt              ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
  return usual();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const std::lock_guard lock(stream->mutex);
  if (!stream->captured.has_value()) return cudaErrorIllegalState;
  std::vector<CUstream_st::Work> nodes = *std::exchange(stream->captured, std::nullopt);
  if (stream->spoilt || g_fault.load() == CaptureFault::kEnd) {
    return cudaErrorStreamCaptureInvalidated;
  }
  *graph = new CUgraph_st{std::move(nodes)};
  return usual();
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, std::size_t* count) {
  *count = graph->nodes.size();
  return usual();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return usual();
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  if (usual() != cudaSuccess) return usual();
  *executable = new CUgraphExec_st{.nodes = graph->nodes};
  const std::lock_guard lock(g_mutex);
  ++g_graphs.made;
  ++g_graphs.alive;
  return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  *info = {};
  if (executable->nodes.size() != graph->nodes.size()) {
    info->result = cudaGraphExecUpdateErrorTopologyChanged;
    return cudaErrorGraphExecUpdateFailure;
  }
  executable->nodes = graph->nodes;
  const std::lock_guard lock(g_mutex);
  ++g_graphs.updated;
  return usual();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (usual() != cudaSuccess) return usual();
  {
    const std::lock_guard lock(g_mutex);
    ++g_graphs.launched;
    g_graphs.nodes += executable->nodes.size();
  }
  executable->in_flight->fetch_add(1);
  for (const CUstream_st::Work& node : executable->nodes) stream->enqueue(node);
  stream->enqueue([in_flight = executable->in_flight] { in_flight->fetch_sub(1); });
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  if (executable->in_flight->load() != 0 && !heddle::support::is_fake_cuda_broken()) {
    std::fputs("fake CUDA: an executable graph is destroyed that is not done\n", stderr);
    std::abort();
  }
  delete executable;
  const std::lock_guard lock(g_mutex);
  --g_graphs.alive;
  return usual();
}

}  // extern "C"
