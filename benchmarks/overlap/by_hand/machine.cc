#include "overlap/by_hand/machine.h"

#include "engine/device/backend.h"

namespace bench::overlap::by_hand {

std::unique_ptr<Machine> make_machine() {
  const auto& gpu = heddle::device::backend_of(heddle::Device::gpu(0));
  return gpu.runs_cpu_kernels() ? make_simulated_machine() : make_cuda_machine();
}

}  // namespace bench::overlap::by_hand
