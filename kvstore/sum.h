#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/dtype.h"
#include "heddle/ndarray.h"
#include "heddle/trace.h"

namespace heddle::kvstore {

/// out[i] = ((in0[i] + in1[i]) + in2[i]) + … for i < count, in the arithmetic of operator+ of
/// arrays. At least one input; `out` overlaps none of them. Runs on the calling thread, or is
/// enqueued on the operation's stream.
using SumKernel = void (*)(std::span<const std::byte* const> inputs, std::byte* out,
                           std::int64_t count);

/// For arrays that kernels of `device` read.
SumKernel sum_kernel(Device device, DType dtype);

/// What CUDA devices have; null in a build without it.
SumKernel cuda_sum_kernel(DType dtype);

/// Where sums, and updates from sums, run on the device that owns the value. Not in a GPU's compute
/// stream: there one that waits for a peer's copy would hold up the backward work behind it.
inline Lane sum_lane(Device device) { return device.is_gpu() ? Lane::kComm : Lane::kCompute; }

/// Pushes the sum of the inputs, in their order, to all of `out`, on its device.
void push_sum(std::vector<NDArray> inputs, const NDArray& out, int priority);

/// The first elements of the arrays, inside an operation that names their variables.
std::vector<const std::byte*> addresses_of(std::span<const NDArray> arrays);

}  // namespace heddle::kvstore
