#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace heddle {

enum class DeviceKind : std::uint8_t { kCpu, kGpu, kCpuPinned };

/// Names a device. A value: cheap to copy, ordered, and with a std::hash.
///
/// gpu(i) is the i-th *logical* GPU: a real one, a share of a real one, or a simulated one, as
/// HEDDLE_GPUS or RuntimeOptions::gpus says. All cpu(k) share one set of workers.
class Device {
 public:
  /// cpu(0).
  Device() = default;

  /// Throws std::invalid_argument if `id` is negative.
  static Device cpu(int id = 0);

  /// Throws std::invalid_argument, naming HEDDLE_GPUS, unless 0 <= id < num_gpus().
  static Device gpu(int id);

  /// Host memory, page-locked if there is a real GPU; the same workers as cpu(id), and mixes with
  /// it in arithmetic.
  static Device cpu_pinned(int id = 0);

  DeviceKind kind() const { return kind_; }
  int id() const { return id_; }
  bool is_gpu() const { return kind_ == DeviceKind::kGpu; }

  /// "cpu(0)", "gpu(3)", "cpu_pinned(0)".
  std::string str() const;

  friend bool operator==(const Device&, const Device&) = default;
  friend auto operator<=>(const Device&, const Device&) = default;

 private:
  Device(DeviceKind kind, int id) : kind_(kind), id_(id) {}

  DeviceKind kind_ = DeviceKind::kCpu;
  int id_ = 0;
};

/// Number of logical GPUs. The first call fixes the device table for the process.
int num_gpus();

/// Number of real GPUs that can be used, whatever HEDDLE_GPUS says. Does not fix the device table.
int num_physical_gpus();

/// The device that new arrays of this thread get by default; cpu(0) until it is set.
Device current_device();
void set_current_device(Device device);

}  // namespace heddle

template <>
struct std::hash<heddle::Device> {
  std::size_t operator()(const heddle::Device& device) const noexcept {
    return std::size_t{3} * static_cast<std::size_t>(device.id()) +
           static_cast<std::size_t>(device.kind());
  }
};
