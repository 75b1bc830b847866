#include "overlap/by_hand/machine.h"

#include "engine/device/backend.h"

namespace bench::overlap::by_hand {

bool on_real_gpus() {
  return !heddle::device::backend_of(heddle::Device::gpu(0)).runs_cpu_kernels();
}

std::unique_ptr<Machine> make_machine() {
  return on_real_gpus() ? make_cuda_machine() : make_simulated_machine();
}

}  // namespace bench::overlap::by_hand
