#include "overlap/by_hand/machine.h"

namespace bench::overlap::by_hand {

std::unique_ptr<Machine> make_cuda_machine() {
  throw heddle::DeviceError("[bench_overlap] heddle was built without CUDA");
}

}  // namespace bench::overlap::by_hand
