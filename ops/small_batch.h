#pragma once

#include "ops/matmul.h"

namespace heddle::ops {

/// True if small_batch_forward() is the faster way: a long product of few rows with many outputs.
/// OpenBLAS packs the second operand at a higher price than the first, and the weight is by far the
/// larger one. (Measured: 0.7 to 0.95 of the time with kernels for AVX-512 and AVX2; in double,
/// where it depends on the sizes, there is no such way.)
bool is_small_batch(const MatmulSizes& sizes);

/// out (m, n) = x (m, k) times the transpose of weight (n, k), + bias (n) in each row, computed as
/// the transpose of weight times that of x.
void small_batch_forward(const MatmulSizes& sizes, const float* x, const float* weight,
                         const float* bias, float* out);

}  // namespace heddle::ops
