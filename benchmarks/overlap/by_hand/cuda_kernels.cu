#include "engine/device/cuda_for_each.h"
#include "ops/formulas.h"
#include "overlap/by_hand/cuda_kernels.h"
#include "overlap/by_hand/cuda_run.h"

namespace bench::overlap::by_hand {
namespace {

namespace device = heddle::device;
namespace ops = heddle::ops;

/// Calls body(i) for every i < n.
template <class Body>
void for_each(cudaStream_t stream, std::int64_t n, Body body) {
  cuda_run(stream, &device::cuda_for_each_kernel<Body>,
           device::cuda_blocks(n, device::kCudaThreads), device::kCudaThreads, n, body);
}

}  // namespace

void launch_maximum(cudaStream_t stream, const Buffer& a, const Buffer& b, const Buffer& out) {
  for_each(stream, out.size, [x = a.data, y = b.data, to = out.data] __device__(std::int64_t i) {
    to[i] = ops::maximum_formula::apply(x[i], y[i]);
  });
}

}  // namespace bench::overlap::by_hand
