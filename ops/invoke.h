#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "ndarray/array_access.h"
#include "ndarray/cuda_kernels.h"

// What every operator does between its call and its kernel: check, make the output, push.

namespace heddle::ops {

/// Throws std::invalid_argument: "[op] what".
[[noreturn]] void refuse(std::string_view op, const std::string& what);

/// The device on which the arrays of one call lie. The CPU's arrays, pinned or not, are on one;
/// if they differ, results go to cpu(0). Else different devices are std::invalid_argument.
Device common_device(std::string_view op, std::span<const NDArray* const> arrays);
inline Device common_device(std::string_view op, std::initializer_list<const NDArray*> arrays) {
  return common_device(op, std::span<const NDArray* const>(arrays.begin(), arrays.size()));
}

/// The type of all `arrays`; different ones are std::invalid_argument.
DType common_dtype(std::string_view op, std::initializer_list<const NDArray*> arrays);

void expect_ndim(std::string_view op, std::string_view argument, const NDArray& x, int ndim);
void expect_shape(std::string_view op, std::string_view argument, const NDArray& x,
                  const Shape& expected);

inline std::vector<std::int64_t> dims_of(const NDArray& x) {
  const std::span<const std::int64_t> dims = x.shape().dims();
  return {dims.begin(), dims.end()};
}

/// `axis` counted from the front, in [0, ndim).
int resolve_axis(std::string_view op, int axis, int ndim);

/// The first element, inside an operation that mutates the array's variable.
inline void* address(const NDArray& x) { return ArrayAccess::address(x); }
/// The first element, inside an operation that reads or mutates the array's variable.
inline const void* const_address(const NDArray& x) { return ArrayAccess::const_address(x); }

/// A new array for a result.
inline NDArray make_output(Shape shape, Device device, DType dtype) {
  return NDArray(std::move(shape), device, dtype);
}

using detail::kernel_for_device;

/// What a kernel does, for the model clock: see PushOptions.
struct Work {
  double flops = 0;
  std::uint64_t bytes = 0;
};

/// `flops` operations on all elements of `arrays`, each read or written once.
Work work_on(std::initializer_list<const NDArray*> arrays, double flops);

/// Pushes a kernel that writes every element of what it mutates.
template <class Kernel>
void launch(std::string_view op, Device device, VarList reads, VarList mutates, const Work& work,
            Kernel&& kernel) {
  Engine::get().push(std::forward<Kernel>(kernel), reads, mutates,
                     {.device = device,
                      .name = op,
                      .overwrites = true,
                      .flops = work.flops,
                      .bytes = work.bytes,
                      .capturable = true});
}

/// Pushes a kernel whose result depends on what it mutates.
template <class Kernel>
void launch_in_place(std::string_view op, Device device, VarList reads, VarList mutates,
                     const Work& work, Kernel&& kernel) {
  Engine::get().push(
      std::forward<Kernel>(kernel), reads, mutates,
      {.device = device, .name = op, .flops = work.flops, .bytes = work.bytes, .capturable = true});
}

}  // namespace heddle::ops
