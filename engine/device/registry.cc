#include "engine/device/registry.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/device/cpu.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/gpu_spec.h"
#include "engine/device/sim_device.h"
#include "engine/runtime.h"

namespace heddle::device {
namespace {

struct GpuTable {
  std::string spec;
  std::vector<std::unique_ptr<Backend>> backends;
};

GpuTable* make_gpu_table() {
  auto table = std::make_unique<GpuTable>();
  table->spec = resolved_runtime_options().gpus;
  const std::vector<LogicalGpu> gpus = logical_gpus(table->spec, cuda_device_count);
  const auto links = std::make_shared<SimLinks>(gpus);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const int id = static_cast<int>(i);
    if (const auto* cuda = std::get_if<CudaSpec>(&gpus[i])) {
      table->backends.push_back(make_cuda_device(id, cuda->index));
    } else {
      table->backends.push_back(std::make_unique<SimDevice>(id, std::get<SimSpec>(gpus[i]), links));
    }
  }
  return table.release();
}

// The tables are never destroyed: arrays in static objects give their memory back after main has
// returned, and threads that nobody joined may still be running operations then.

const GpuTable& gpu_table() {
  static const GpuTable* const table = make_gpu_table();
  return *table;
}

Backend& cpu_backend() {
  static Backend* const backend = make_cpu_backend().release();
  return *backend;
}

}  // namespace

void check_gpu_id(int id) {
  const GpuTable& table = gpu_table();
  const auto count = static_cast<int>(table.backends.size());
  if (id >= 0 && id < count) return;
  const std::string who = "[Device::gpu] id " + std::to_string(id);
  if (count == 0) {
    throw std::invalid_argument(who + ": there is no GPU (HEDDLE_GPUS=\"" + table.spec +
                                "\"); HEDDLE_GPUS=sim:2 would give two simulated ones");
  }
  throw std::invalid_argument(who + ": expected 0 to " + std::to_string(count - 1) +
                              " (HEDDLE_GPUS=\"" + table.spec + "\")");
}

Backend& backend_of(Device device) {
  if (!device.is_gpu()) return cpu_backend();
  return *gpu_table().backends[static_cast<std::size_t>(device.id())];
}

}  // namespace heddle::device

namespace heddle {

int num_gpus() { return static_cast<int>(device::gpu_table().backends.size()); }

}  // namespace heddle
