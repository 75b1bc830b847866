#include <memory>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include "heddle/cuda.h"
#include "heddle/error.h"

#include "tests/conformance/target.h"

namespace heddle::conformance {

void in_stream(const RunContext& context, std::function<void()> work) {
  if (!context.device.is_gpu()) return work();
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  const cudaError_t result = cudaLaunchHostFunc(
      cuda_stream(context),
      [](void* given) {
        const std::unique_ptr<std::function<void()>> taken(
            static_cast<std::function<void()>*>(given));
        (*taken)();
      },
      owned.get());
  if (result != cudaSuccess) {
    throw DeviceError(std::string("cudaLaunchHostFunc: ") + cudaGetErrorString(result));
  }
  static_cast<void>(owned.release());  // the stream has it
}

}  // namespace heddle::conformance
