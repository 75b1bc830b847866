#pragma once

#include <cuda_runtime_api.h>

#include "overlap/by_hand/machine.h"

// The kernels of a real GPU, with the operators' formulas. Each is enqueued on a stream of the
// current GPU; errors are for cudaGetLastError().

namespace bench::overlap::by_hand {

void launch_combine(cudaStream_t stream, Combination how, const Buffer& a, const Buffer& b,
                    const Buffer& out);
void launch_relu(cudaStream_t stream, const Buffer& x, const Buffer& out);
/// Each row of `out` = row.
void launch_rows_of(cudaStream_t stream, const Buffer& row, const Buffer& out);
/// out = the sum of the rows of x, in their order.
void launch_sum_of_rows(cudaStream_t stream, const Buffer& x, const Buffer& out);
void launch_loss_gradient(cudaStream_t stream, const Buffer& logits, const Buffer& labels,
                          const Buffer& out);
void launch_update(cudaStream_t stream, const Buffer& first, const Buffer& second,
                   const Buffer& weight, double lr);

}  // namespace bench::overlap::by_hand
