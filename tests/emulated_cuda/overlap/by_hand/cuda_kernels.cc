// The kernels as plain C++.
#include "overlap/by_hand/cuda_kernels.cu"
