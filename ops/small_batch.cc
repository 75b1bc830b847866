#include "ops/small_batch.h"

#include <algorithm>

namespace heddle::ops {

namespace {

/// Elements of the transposed product that lie on the stack.
constexpr std::int64_t kScratch = 16384;

/// Of few enough outputs at a time that their columns stay in the first-level cache.
constexpr std::int64_t kTile = 64;

/// Writes `count` outputs of each of `rows` rows, which are `stride` apart.
void transpose_and_add(const float* product, const float* bias, std::int64_t rows,
                       std::int64_t count, float* out, std::int64_t stride) {
  for (std::int64_t tile = 0; tile < count; tile += kTile) {
    const std::int64_t end = std::min(tile + kTile, count);
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const row = out + i * stride;
      for (std::int64_t j = tile; j < end; ++j) row[j] = product[j * rows + i] + bias[j];
    }
  }
}

}  // namespace

bool is_small_batch(const MatmulSizes& sizes) {
  return sizes.m > 4 && sizes.m <= 64 && sizes.n >= 4 * sizes.m && sizes.k >= 256;
}

void small_batch_forward(const MatmulSizes& sizes, const float* x, const float* weight,
                         const float* bias, float* out) {
  alignas(64) float product[kScratch];
  const std::int64_t most = kScratch / sizes.m;
  for (std::int64_t begin = 0; begin < sizes.n; begin += most) {
    const std::int64_t count = std::min(most, sizes.n - begin);
    matmul({.m = count, .n = sizes.m, .k = sizes.k, .transpose_b = true}, weight + begin * sizes.k,
           x, product, false);
    transpose_and_add(product, bias + begin, sizes.m, count, out + begin, sizes.n);
  }
}

}  // namespace heddle::ops
