#include "tests/conformance/target.h"

#include "heddle/error.h"

namespace heddle::conformance {

std::vector<Device> devices() {
  if (num_gpus() == 0) return {Device::cpu(0), Device::cpu(1)};
  std::vector<Device> gpus;
  for (int id = 0; id < num_gpus(); ++id) gpus.push_back(Device::gpu(id));
  return gpus;
}

std::vector<Device> memories() {
  std::vector<Device> all = devices();
  all.insert(all.end(), {Device::cpu(), Device::cpu_pinned()});
  return all;
}

Device device(std::size_t index) {
  const std::vector<Device> all = devices();
  return all[index % all.size()];
}

std::vector<Lane> stream_lanes() {
  return {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm};
}

std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::uint8_t> bytes(size);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24U);
  }
  return bytes;
}

}  // namespace heddle::conformance
