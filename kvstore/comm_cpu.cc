#include "kvstore/comm_cpu.h"

namespace heddle::kvstore {

Device CommCpu::home(Device /*device*/) const { return Device::cpu_pinned(); }

std::vector<Part> CommCpu::place(std::int64_t size, std::size_t width,
                                 std::span<const Device> /*devices*/, bool divisible) {
  return place_on_cpu(size, width, Device::cpu_pinned(), divisible);
}

}  // namespace heddle::kvstore
