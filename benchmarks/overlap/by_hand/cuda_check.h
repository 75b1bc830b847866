#pragma once

#include <string>

#include <cuda_runtime_api.h>
#include <heddle/heddle.h>

namespace bench::overlap::by_hand {

/// Throws heddle::DeviceError, naming the call, unless it has succeeded.
inline void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw heddle::DeviceError("[by hand] " + std::string(call) + ": " + cudaGetErrorString(result));
}

/// An event of the current GPU.
inline cudaEvent_t new_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
  return event;
}

}  // namespace bench::overlap::by_hand
