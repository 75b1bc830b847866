#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace heddle::device {

// The one place where heddle has a thread wait for a GPU: steps of operations on engines without
// streams, and operations with RuntimeOptions::debug_sync. All else asks events.
//
// Thread safety: every function may be called from any thread.

/// cudaStreamSynchronize, counted.
cudaError_t cuda_synchronize(cudaStream_t stream) noexcept;

/// How many such waits the process has made.
std::uint64_t cuda_blocking_synchronizations() noexcept;

}  // namespace heddle::device
