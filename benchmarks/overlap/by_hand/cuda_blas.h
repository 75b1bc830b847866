#pragma once

#include <cublas_v2.h>

#include "ops/matmul.h"

namespace bench::overlap::by_hand {

/// Products of float32 on one stream by cuBLAS, which is opened by the first of these.
class CuBlas {
 public:
  /// Throws heddle::Error if cuBLAS is not there or does not work.
  explicit CuBlas(cudaStream_t stream);
  ~CuBlas();
  CuBlas(const CuBlas&) = delete;
  CuBlas& operator=(const CuBlas&) = delete;

  /// As heddle::ops::matmul(), on the stream.
  void multiply(const heddle::ops::MatmulSizes& sizes, const float* a, const float* b, float* c,
                bool accumulate) const;

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace bench::overlap::by_hand
