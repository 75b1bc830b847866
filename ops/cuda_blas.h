#pragma once

#include "engine/device/cuda_launch.h"
#include "ops/matmul.h"

namespace heddle::ops {

/// matmul() on a GPU, as a part of the step `on`, by cuBLAS, which is opened by the first product:
/// in float32 without shorter formats inside. Throws Error if cuBLAS is not there, DeviceError.
void cuda_matmul(device::CudaLaunch& on, const MatmulSizes& sizes, const float* a, const float* b,
                 float* c, bool accumulate);
void cuda_matmul(device::CudaLaunch& on, const MatmulSizes& sizes, const double* a, const double* b,
                 double* c, bool accumulate);

}  // namespace heddle::ops
