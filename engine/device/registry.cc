#include "engine/device/registry.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/base/environment.h"
#include "engine/device/cpu.h"
#include "engine/device/cuda_devices.h"
#include "engine/device/gpu_spec.h"
#include "engine/device/sim_device.h"
#include "engine/runtime.h"

namespace heddle::device {
namespace {

struct GpuTable {
  std::string spec;
  std::string setting;  ///< that the spec is of
  std::vector<LogicalGpu> gpus;
  std::vector<std::unique_ptr<Backend>> backends;
  bool has_cuda = false;  // all of them, or none
};

/// Streams of the two kinds could not wait for each other.
void refuse_mixture(const GpuTable& table) {
  for (const LogicalGpu& gpu : table.gpus) {
    if (gpu.index() == table.gpus.front().index()) continue;
    throw std::invalid_argument("[" + table.setting + "] \"" + table.spec +
                                "\" has real and simulated GPUs: expected one kind");
  }
}

GpuTable* make_gpu_table() {
  auto table = std::make_unique<GpuTable>();
  const RuntimeOptions options = resolved_runtime_options();
  table->spec = options.gpus.empty() ? "auto" : options.gpus;
  const bool is_configured = !options.gpus.empty() && base::environment().gpus != options.gpus;
  table->setting = is_configured ? "RuntimeOptions::gpus in place of HEDDLE_GPUS" : "HEDDLE_GPUS";
  table->gpus = logical_gpus(table->spec, cuda_device_count, table->setting);
  const std::vector<LogicalGpu>& gpus = table->gpus;
  refuse_mixture(*table);
  const auto links = std::make_shared<SimLinks>(gpus);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const int id = static_cast<int>(i);
    if (const auto* cuda = std::get_if<CudaSpec>(&gpus[i])) {
      const auto sharers = static_cast<int>(std::count(gpus.begin(), gpus.end(), gpus[i]));
      table->backends.push_back(make_cuda_device(id, cuda->index, sharers));
      table->has_cuda = true;
    } else {
      table->backends.push_back(std::make_unique<SimDevice>(
          id, std::get<SimSpec>(gpus[i]), links, options.engine.seed, options.debug_memory));
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

/// Where a GPU's own copy engines reach it, if there is a real one.
Backend& pinned_backend() {
  static Backend* const backend =
      gpu_table().has_cuda ? make_cpu_backend(cuda_pinned_pool()).release() : &cpu_backend();
  return *backend;
}

}  // namespace

void check_gpu_id(int id) {
  const GpuTable& table = gpu_table();
  const auto count = static_cast<int>(table.backends.size());
  if (id >= 0 && id < count) return;
  const std::string who = "[Device::gpu] id " + std::to_string(id);
  if (count == 0) {
    throw std::invalid_argument(who + ": there is no GPU (" + table.setting + "=\"" + table.spec +
                                "\"); HEDDLE_GPUS=sim:2 would give two simulated ones");
  }
  throw std::invalid_argument(who + ": expected 0 to " + std::to_string(count - 1) + " (" +
                              table.setting + "=\"" + table.spec + "\")");
}

std::span<const LogicalGpu> logical_gpu_table() { return gpu_table().gpus; }

Backend& backend_of(Device device) {
  if (device.kind() == DeviceKind::kCpu) return cpu_backend();
  if (device.kind() == DeviceKind::kCpuPinned) return pinned_backend();
  return *gpu_table().backends[static_cast<std::size_t>(device.id())];
}

}  // namespace heddle::device

namespace heddle {

MemoryStatistics memory_statistics(Device device) { return device::backend_of(device).memory(); }

void trim_memory(Device device) { device::backend_of(device).trim(); }

int num_gpus() { return static_cast<int>(device::gpu_table().backends.size()); }

}  // namespace heddle
