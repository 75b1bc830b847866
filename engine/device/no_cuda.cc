#include <string>

#include "heddle/cuda.h"
#include "heddle/error.h"

#include "engine/device/backend.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/deferred_call.h"
#include "engine/device/host_wait.h"

namespace heddle::device {

void leave_deferred_calls() noexcept {}

void begin_host_wait() noexcept {}
void end_host_wait() noexcept {}

int cuda_device_count() { return 0; }

std::unique_ptr<Backend> make_cuda_device(int /*id*/, int index, int /*sharers*/) {
  throw DeviceError("[cuda:" + std::to_string(index) + "] heddle was built without CUDA");
}

MemoryPool& cuda_pinned_pool() {
  throw DeviceError("[cuda_pinned_pool] heddle was built without CUDA");
}

}  // namespace heddle::device

namespace heddle {

CUstream_st* cuda_stream(const RunContext& context) {
  throw Error("[cuda_stream] operation #" + std::to_string(context.sequence) + " on " +
              context.device.str() + ": heddle was built without CUDA");
}

}  // namespace heddle
