#include "ops/invoke.h"

#include <stdexcept>

namespace heddle::ops {

void refuse(std::string_view op, const std::string& what) {
  throw std::invalid_argument("[" + std::string(op) + "] " + what);
}

Device common_device(std::string_view op, std::span<const NDArray* const> arrays) {
  const Device first = arrays.front()->device();
  Device common = first;
  for (const NDArray* array : arrays.subspan(1)) {
    const Device device = array->device();
    if (device == first) continue;
    if (device.is_gpu() || first.is_gpu()) {
      refuse(op, "arrays on " + first.str() + " and " + device.str() +
                     ": expected one device; to() copies between devices");
    }
    common = Device::cpu();
  }
  return common;
}

DType common_dtype(std::string_view op, std::initializer_list<const NDArray*> arrays) {
  const DType first = (*arrays.begin())->dtype();
  for (const NDArray* array : arrays) {
    if (array->dtype() == first) continue;
    refuse(op, std::string("types ") + dtype_name(first) + " and " + dtype_name(array->dtype()) +
                   ": expected equal ones; astype() converts");
  }
  return first;
}

void expect_ndim(std::string_view op, std::string_view argument, const NDArray& x, int ndim) {
  if (x.ndim() == ndim) return;
  refuse(op, std::string(argument) + " of shape " + x.shape().str() + ": expected " +
                 std::to_string(ndim) + (ndim == 1 ? " dimension" : " dimensions"));
}

void expect_shape(std::string_view op, std::string_view argument, const NDArray& x,
                  const Shape& expected) {
  if (x.shape() == expected) return;
  refuse(op,
         std::string(argument) + " of shape " + x.shape().str() + ": expected " + expected.str());
}

Work work_on(std::initializer_list<const NDArray*> arrays, double flops) {
  Work work{.flops = flops, .bytes = 0};
  for (const NDArray* array : arrays) {
    work.bytes += static_cast<std::uint64_t>(array->size()) * dtype_size(array->dtype());
  }
  return work;
}

int resolve_axis(std::string_view op, int axis, int ndim) {
  const int resolved = axis < 0 ? axis + ndim : axis;
  if (resolved < 0 || resolved >= ndim) {
    const std::string count = std::to_string(ndim);
    refuse(op, "axis " + std::to_string(axis) + ": expected -" + count + " <= axis < " + count);
  }
  return resolved;
}

}  // namespace heddle::ops
