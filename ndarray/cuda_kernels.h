#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/device.h"
#include "heddle/dtype.h"
#include "heddle/error.h"

#include "engine/device/backend.h"

// Kernels for devices that cannot run the CPU's. They are called inside an operation of such a
// device with addresses on it, and enqueue on the operation's stream. The build chooses the files
// that define them; without CUDA they are null.

namespace heddle::detail {

/// Throws Error: `op` cannot be done on `device`.
[[noreturn]] inline void refuse_device(std::string_view op, Device device) {
  throw Error("[" + std::string(op) + "] on " + device.str() +
              ": there is no kernel for this kind of device yet; to(Device::cpu()) brings arrays "
              "where there is one");
}

/// The kernel for `device`: what `cpu()` returns, which throws for types that the operator does not
/// have; if the device does not run the CPU's kernels, what `cuda()` returns, and if that is null
/// an Error that names `op` and the device.
template <class Cpu, class Cuda>
auto kernel_for_device(std::string_view op, Device device, Cpu cpu, Cuda cuda) -> decltype(cpu()) {
  const auto kernel = cpu();
  if (device::backend_of(device).runs_cpu_kernels()) return kernel;
  if (const auto of_cuda = cuda()) return of_cuda;
  refuse_device(op, device);
}

/// to[i] = convert(from[i]) for i < size.
using ConvertKernel = void (*)(const void* from, void* to, std::int64_t size);
ConvertKernel cuda_convert_kernel(DType from, DType to);

/// first[i] = the element of `width` bytes at `element`, which is the host's.
using FillKernel = void (*)(void* first, std::int64_t size, const void* element, std::size_t width);
FillKernel cuda_fill_kernel();

/// What arange() computes element i from.
struct Progression {
  bool is_exact;  ///< in integers, modulo 2^64
  std::uint64_t origin;
  std::uint64_t stride;
  double start;
  double step;
};
using ProgressionKernel = void (*)(const Progression& progression, void* first, std::int64_t size);
ProgressionKernel cuda_progression_kernel(DType dtype);

}  // namespace heddle::detail
