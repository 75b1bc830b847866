// The kernels as plain C++.
#include "gpu/by_hand/cuda_kernels.cu"
