#include "kvstore/comm_device.h"

#include <algorithm>

namespace heddle::kvstore {

namespace {

/// A smaller value is not worth the operations that more than one part costs.
constexpr std::size_t kSmallestDivided = 256 * 1024;

std::vector<Device> distinct_gpus(std::span<const Device> devices) {
  std::vector<Device> gpus;
  for (const Device device : devices) {
    if (device.is_gpu() && std::find(gpus.begin(), gpus.end(), device) == gpus.end()) {
      gpus.push_back(device);
    }
  }
  return gpus;
}

}  // namespace

Device CommDevice::home(Device device) const { return device; }

std::vector<Part> CommDevice::place(std::int64_t size, std::size_t width,
                                    std::span<const Device> devices, bool divisible) {
  std::vector<Device> owners = distinct_gpus(devices);
  if (owners.empty()) return place_on_cpu(size, width, devices.front(), divisible);
  const bool divided = divisible && static_cast<std::size_t>(size) * width >= kSmallestDivided;
  if (!divided) {
    // The first of equals, in the order of the push.
    owners = {*std::min_element(owners.begin(), owners.end(),
                                [this](Device a, Device b) { return loads_[a] < loads_[b]; })};
  }
  std::vector<Part> parts = split(size, owners);
  for (const Part& part : parts) {
    loads_[part.device] += static_cast<std::size_t>(part.size) * width;
  }
  return parts;
}

}  // namespace heddle::kvstore
