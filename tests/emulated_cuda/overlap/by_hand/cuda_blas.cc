#include "overlap/by_hand/cuda_blas.h"

#include "tests/support/fake_cuda_runtime.h"

// Instead of cuBLAS: a handle is the stream itself.

namespace bench::overlap::by_hand {

CuBlas::CuBlas(cudaStream_t stream) : handle_(reinterpret_cast<cublasHandle_t>(stream)) {}

CuBlas::~CuBlas() = default;

void CuBlas::multiply(const heddle::ops::MatmulSizes& sizes, const float* a, const float* b,
                      float* c, bool accumulate) const {
  heddle::support::enqueue_on_fake_cuda(reinterpret_cast<cudaStream_t>(handle_),
                                        [=] { heddle::ops::matmul(sizes, a, b, c, accumulate); });
}

}  // namespace bench::overlap::by_hand
