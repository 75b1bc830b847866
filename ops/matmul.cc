#include "ops/matmul.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include <cblas.h>

#include "heddle/ops.h"

#include "ops/dispatch.h"
#include "ops/invoke.h"
#include "ops/kernels.h"

namespace heddle {

namespace ops {

namespace {

/// The library's own threads stay out of the way of the engine's.
void use_one_blas_thread() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

struct BlasArguments {
  CBLAS_TRANSPOSE transpose_a;
  CBLAS_TRANSPOSE transpose_b;
  blasint m, n, k;
  blasint lda, ldb, ldc;
};

BlasArguments blas_arguments(const MatmulSizes& sizes) {
  const auto m = static_cast<blasint>(sizes.m);
  const auto n = static_cast<blasint>(sizes.n);
  const auto k = static_cast<blasint>(sizes.k);
  return {.transpose_a = sizes.transpose_a ? CblasTrans : CblasNoTrans,
          .transpose_b = sizes.transpose_b ? CblasTrans : CblasNoTrans,
          .m = m,
          .n = n,
          .k = k,
          .lda = sizes.transpose_a ? m : k,
          .ldb = sizes.transpose_b ? k : n,
          .ldc = n};
}

/// Products that the library need not see. True if it is done.
template <class T>
bool matmul_is_empty(const MatmulSizes& sizes, T* c, bool accumulate) {
  if (sizes.m == 0 || sizes.n == 0) return true;
  if (sizes.k != 0) return false;
  if (!accumulate) std::fill_n(c, sizes.m * sizes.n, T{0});
  return true;
}

}  // namespace

void matmul(const MatmulSizes& sizes, const float* a, const float* b, float* c, bool accumulate) {
  if (matmul_is_empty(sizes, c, accumulate)) return;
  use_one_blas_thread();
  const BlasArguments g = blas_arguments(sizes);
  cblas_sgemm(CblasRowMajor, g.transpose_a, g.transpose_b, g.m, g.n, g.k, 1.0F, a, g.lda, b, g.ldb,
              accumulate ? 1.0F : 0.0F, c, g.ldc);
}

void matmul(const MatmulSizes& sizes, const double* a, const double* b, double* c,
            bool accumulate) {
  if (matmul_is_empty(sizes, c, accumulate)) return;
  use_one_blas_thread();
  const BlasArguments g = blas_arguments(sizes);
  cblas_dgemm(CblasRowMajor, g.transpose_a, g.transpose_b, g.m, g.n, g.k, 1.0, a, g.lda, b, g.ldb,
              accumulate ? 1.0 : 0.0, c, g.ldc);
}

void expect_matmul_sizes(const char* op, const MatmulSizes& sizes) {
  const std::int64_t largest = std::max({sizes.m, sizes.n, sizes.k});
  if (largest <= std::numeric_limits<blasint>::max()) return;
  refuse(op, "a dimension of " + std::to_string(largest) + ": expected at most " +
                 std::to_string(std::numeric_limits<blasint>::max()));
}

namespace {

template <class T>
void dot(const MatmulSizes& sizes, const void* a, const void* b, void* out) {
  matmul(sizes, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), false);
}

/// Throws unless the shapes make a product.
MatmulSizes dot_sizes(const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b) {
  const Shape& left = a.shape();
  const Shape& right = b.shape();
  const bool matrix_a = left.ndim() == 2;
  const bool matrix_b = right.ndim() == 2;
  const bool fits = (matrix_a || (left.ndim() == 1 && right.ndim() == 1 && !transpose_a)) &&
                    (matrix_b || (right.ndim() == 1 && !transpose_b));
  MatmulSizes sizes{.m = 1, .n = 1, .k = 0};
  std::int64_t k_of_b = -1;
  if (fits) {
    // A vector is a column on the right and, beside another one, a row on the left.
    sizes = {.m = matrix_a ? left[transpose_a ? 1 : 0] : 1,
             .n = matrix_b ? right[transpose_b ? 0 : 1] : 1,
             .k = matrix_a ? left[transpose_a ? 0 : 1] : left[0],
             .transpose_a = transpose_a,
             .transpose_b = transpose_b};
    k_of_b = right[transpose_b ? 1 : 0];
  }
  if (sizes.k != k_of_b) {
    refuse("dot", "shapes " + left.str() + (transpose_a ? " transposed" : "") + " and " +
                      right.str() + (transpose_b ? " transposed" : "") +
                      ": expected (m, k) and (k, n), (m, k) and (k), or (k) and (k)");
  }
  expect_matmul_sizes("dot", sizes);
  return sizes;
}

}  // namespace

}  // namespace ops

NDArray dot(const NDArray& a, const NDArray& b, bool transpose_a, bool transpose_b) {
  const Device device = ops::common_device("dot", {&a, &b});
  const DType dtype = ops::common_dtype("dot", {&a, &b});
  const auto pick = []<class T>(std::type_identity<T>) -> ops::DotKernel { return &ops::dot<T>; };
  const auto kernel = ops::kernel_for_device(
      "dot", device, [&] { return ops::pick_floating("dot", dtype, pick); },
      [&] { return ops::cuda::dot_kernel(dtype); });
  const ops::MatmulSizes sizes = ops::dot_sizes(a, b, transpose_a, transpose_b);
  std::vector<std::int64_t> dims;
  if (a.ndim() == 2) dims.push_back(sizes.m);
  if (b.ndim() == 2) dims.push_back(sizes.n);
  NDArray out = ops::make_output(Shape(std::span<const std::int64_t>(dims)), device, dtype);
  ops::launch("dot", device, {a.var(), b.var()}, {out.var()},
              ops::work_on({&a, &b, &out}, ops::flops_of(sizes)), [kernel, sizes, a, b, out] {
                kernel(sizes, ops::const_address(a), ops::const_address(b), ops::address(out));
              });
  return out;
}

}  // namespace heddle
