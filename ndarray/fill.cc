#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "ndarray/array_access.h"
#include "ndarray/convert.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"

namespace heddle {
namespace {

/// Pushes write(first, size), which writes every element of the new `array`.
template <class Write>
void push_write(const char* name, const NDArray& array, Write write) {
  Engine::get().push([array, write] { write(ArrayAccess::address(array), array.size()); }, {},
                     {array.var()},
                     {.device = array.device(),
                      .name = name,
                      .overwrites = true,
                      .bytes = static_cast<std::uint64_t>(array.size()) * dtype_size(array.dtype()),
                      .capturable = true});
}

template <class T>
void fill(void* first, std::int64_t size, const void* element, std::size_t /*width*/) {
  std::fill_n(static_cast<T*>(first), size, *static_cast<const T*>(element));
}

NDArray filled(const char* name, Shape shape, Scalar value, Device device, DType dtype) {
  NDArray array(std::move(shape), device, dtype);
  detail::visit_dtype(dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    const auto kernel = detail::kernel_for_device(
        name, device, []() -> detail::FillKernel { return &fill<T>; }, detail::cuda_fill_kernel);
    push_write(name, array,
               [kernel, element = detail::convert_scalar<T>(value)](void* first, std::int64_t n) {
                 kernel(first, n, &element, sizeof(T));
               });
  });
  return array;
}

template <class T>
void fill_progression(const detail::Progression& progression, void* first, std::int64_t size) {
  auto* const to = static_cast<T*>(first);
  for (std::int64_t i = 0; i < size; ++i) to[i] = detail::progression_element<T>(progression, i);
}

struct Range {
  Scalar start;
  Scalar stop;
  Scalar step;

  bool is_exact() const { return start.is_integer() && stop.is_integer() && step.is_integer(); }
};

std::string describe(Scalar x) {
  return x.is_integer() ? std::to_string(x.integer()) : std::to_string(x.real());
}

/// Integers are subtracted modulo 2^64, which gives their distance also where 63 bits do not
/// hold it.
std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

std::uint64_t count_exact(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step > 0) {
    return start < stop ? (distance(start, stop) - 1) / static_cast<std::uint64_t>(step) + 1 : 0;
  }
  return stop < start ? (distance(stop, start) - 1) / distance(step, 0) + 1 : 0;
}

std::int64_t count_elements(const Range& range) {
  const double count = std::ceil((range.stop.real() - range.start.real()) / range.step.real());
  if (range.step.real() == 0 || !(count < 0x1p63)) {
    throw std::invalid_argument("[arange] from " + describe(range.start) + " to " +
                                describe(range.stop) + " by " + describe(range.step) +
                                ": expected a step other than 0 and fewer than 2^63 elements");
  }
  if (!range.is_exact()) return count > 0 ? static_cast<std::int64_t>(count) : 0;
  return static_cast<std::int64_t>(
      count_exact(range.start.integer(), range.stop.integer(), range.step.integer()));
}

}  // namespace

NDArray NDArray::zeros(Shape shape, Device device, DType dtype) {
  return filled("zeros", std::move(shape), 0, device, dtype);
}

NDArray NDArray::ones(Shape shape, Device device, DType dtype) {
  return filled("ones", std::move(shape), 1, device, dtype);
}

NDArray NDArray::full(Shape shape, Scalar value, Device device, DType dtype) {
  return filled("full", std::move(shape), value, device, dtype);
}

NDArray NDArray::arange(Scalar start, Scalar stop, Scalar step, Device device, DType dtype) {
  const Range range{start, stop, step};
  NDArray array({count_elements(range)}, device, dtype);
  const auto cpu_kernel = [dtype] {
    return detail::visit_dtype(dtype, [](auto type) -> detail::ProgressionKernel {
      return &fill_progression<typename decltype(type)::type>;
    });
  };
  const auto kernel = detail::kernel_for_device(
      "arange", device, cpu_kernel, [dtype] { return detail::cuda_progression_kernel(dtype); });
  const detail::Progression progression{.is_exact = range.is_exact(),
                                        .origin = static_cast<std::uint64_t>(start.integer()),
                                        .stride = static_cast<std::uint64_t>(step.integer()),
                                        .start = start.real(),
                                        .step = step.real()};
  push_write("arange", array, [kernel, progression](void* first, std::int64_t size) {
    kernel(progression, first, size);
  });
  return array;
}

}  // namespace heddle
