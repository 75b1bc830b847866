#pragma once

#include <cstdint>

namespace heddle::ops {

/// Sizes of c (m, n) = op(a) (m, k) times op(b) (k, n), all row-major and contiguous, where op
/// transposes what is stored as (k, m) or (n, k).
struct MatmulSizes {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  bool transpose_a = false;
  bool transpose_b = false;
};

/// A multiplication and an addition each for m * n * k pairs of elements.
inline double flops_of(const MatmulSizes& sizes) {
  return 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) *
         static_cast<double>(sizes.k);
}

/// c = op(a) op(b), or c += op(a) op(b). Runs on the calling thread alone, so that the bits do not
/// depend on how many threads there are; calls on several threads do not wait for each other.
void matmul(const MatmulSizes& sizes, const float* a, const float* b, float* c, bool accumulate);
void matmul(const MatmulSizes& sizes, const double* a, const double* b, double* c, bool accumulate);

/// matmul's dimensions are 32-bit integers; more is std::invalid_argument that names `op`.
void expect_matmul_sizes(const char* op, const MatmulSizes& sizes);

}  // namespace heddle::ops
