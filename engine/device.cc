#include "heddle/device.h"

#include <stdexcept>

#include "engine/device/cuda_devices.h"
#include "engine/device/registry.h"

namespace heddle {
namespace {

thread_local Device t_current_device;

void check_host_id(const char* who, int id) {
  if (id >= 0) return;
  throw std::invalid_argument("[" + std::string(who) + "] id " + std::to_string(id) +
                              ": expected 0 or more");
}

const char* kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kCpuPinned:
      return "cpu_pinned";
  }
  return "unknown";
}

}  // namespace

Device Device::cpu(int id) {
  check_host_id("Device::cpu", id);
  return {DeviceKind::kCpu, id};
}

Device Device::gpu(int id) {
  device::check_gpu_id(id);
  return {DeviceKind::kGpu, id};
}

Device Device::cpu_pinned(int id) {
  check_host_id("Device::cpu_pinned", id);
  return {DeviceKind::kCpuPinned, id};
}

std::string Device::str() const {
  return std::string(kind_name(kind_)) + "(" + std::to_string(id_) + ")";
}

int num_physical_gpus() { return device::cuda_device_count(); }

Device current_device() { return t_current_device; }
void set_current_device(Device device) { t_current_device = device; }

}  // namespace heddle
