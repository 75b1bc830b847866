#include "engine/device/cuda_synchronize.h"

#include "engine/base/sync.h"

namespace heddle::device {
namespace {
base::Atomic<std::uint64_t> g_synchronizations{0};
}  // namespace

cudaError_t cuda_synchronize(cudaStream_t stream) noexcept {
  g_synchronizations.fetch_add(1, std::memory_order_relaxed);
  return cudaStreamSynchronize(stream);
}

std::uint64_t cuda_blocking_synchronizations() noexcept {
  return g_synchronizations.load(std::memory_order_relaxed);
}

}  // namespace heddle::device
