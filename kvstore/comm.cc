#include "kvstore/comm.h"

#include <algorithm>

#include "heddle/engine.h"

#include "engine/device/backend.h"
#include "kvstore/transfer.h"
#include "ndarray/array_access.h"

namespace heddle::kvstore {

namespace {

/// Parts begin at multiples of so many elements, so that they share no cache line.
constexpr std::int64_t kAlignment = 64;

/// A part of the CPU's that is smaller is not worth an operation of its own.
constexpr std::size_t kSmallestCpuPart = 128 * 1024;

}  // namespace

std::vector<NDArray> Comm::gather(const Part& part, std::span<const NDArray* const> values,
                                  std::vector<NDArray>& buffers, int priority) {
  std::vector<NDArray> inputs;
  inputs.reserve(values.size());
  buffers.resize(std::max(buffers.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const NDArray input = slice(*values[i], part);
    if (device::backend_of(part.device).reads(input.device())) {
      inputs.push_back(input);
      continue;
    }
    NDArray& buffer = buffers[i];
    if (!buffer) buffer = NDArray(input.shape(), part.device, input.dtype());
    push_transfer(input, buffer, priority);
    inputs.push_back(buffer);
  }
  return inputs;
}

NDArray Comm::slice(const NDArray& value, const Part& part) {
  if (part.size == value.size()) return value;
  return ArrayAccess::view(value, Shape{part.size}, part.begin, "kvstore");
}

void Comm::broadcast(std::span<const NDArray> parts, const NDArray& out, int priority) {
  if (parts.size() == 1) return push_transfer(parts.front(), out, priority);
  push_join(parts, out, priority);
}

std::vector<Part> Comm::split(std::int64_t size, std::span<const Device> devices) {
  const auto count = static_cast<std::int64_t>(devices.size());
  const std::int64_t blocks = (size + kAlignment - 1) / kAlignment;
  std::vector<Part> parts;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t end = std::min(size, blocks * (i + 1) / count * kAlignment);
    parts.push_back({begin, end - begin, devices[static_cast<std::size_t>(i)]});
    begin = end;
  }
  return parts;
}

std::vector<Part> Comm::place_on_cpu(std::int64_t size, std::size_t width, Device device,
                                     bool divisible) {
  const auto workers = static_cast<std::size_t>(Engine::get().options().cpu_workers);
  const std::size_t worthwhile = static_cast<std::size_t>(size) * width / kSmallestCpuPart;
  const std::size_t count = divisible ? std::clamp(worthwhile, std::size_t{1}, workers) : 1;
  return split(size, std::vector<Device>(count, device));
}

}  // namespace heddle::kvstore
