#include <string>

#include "heddle/error.h"

#include "engine/device/cuda_devices.h"

namespace heddle::device {

int cuda_device_count() { return 0; }

std::unique_ptr<Backend> make_cuda_device(int /*id*/, int index) {
  throw DeviceError("[cuda:" + std::to_string(index) + "] heddle was built without CUDA");
}

}  // namespace heddle::device
