#pragma once

#include <cstdint>

#include <cublas_v2.h>

namespace bench::overlap::by_hand {

/// Products of float32 on one stream by cuBLAS, which is opened by the first of these.
class CuBlas {
 public:
  /// Throws heddle::Error if cuBLAS is not there or does not work.
  explicit CuBlas(cudaStream_t stream);
  ~CuBlas();
  CuBlas(const CuBlas&) = delete;
  CuBlas& operator=(const CuBlas&) = delete;

  /// out = a b, all side x side and row-major.
  void multiply(std::int64_t side, const float* a, const float* b, float* out) const;

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace bench::overlap::by_hand
