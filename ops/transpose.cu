#include <string>

#include "heddle/error.h"

#include "engine/device/cuda_for_each.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

constexpr int kTile = 32;
constexpr int kTileRows = 8;  // that the threads of a block take at once
constexpr std::size_t kMaxAxes = 12;

/// A block per tile, by way of memory that the block shares, so that reads and writes both run
/// along rows.
template <class Word>
__global__ void transpose_tiles(const Word* from, Word* to, std::int64_t rows,
                                std::int64_t columns) {
  __shared__ Word tile[kTile][kTile + 1];
  const std::int64_t tiles_across = (columns + kTile - 1) / kTile;
  const std::int64_t tiles = tiles_across * ((rows + kTile - 1) / kTile);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t row = t / tiles_across * kTile;
    const std::int64_t column = t % tiles_across * kTile;
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      const std::int64_t i = row + y;
      const std::int64_t j = column + threadIdx.x;
      if (i < rows && j < columns) tile[y][threadIdx.x] = from[i * columns + j];
    }
    __syncthreads();
    for (int y = static_cast<int>(threadIdx.y); y < kTile; y += kTileRows) {
      const std::int64_t i = row + threadIdx.x;
      const std::int64_t j = column + y;
      if (i < rows && j < columns) to[j * rows + i] = tile[threadIdx.x][y];
    }
    __syncthreads();
  }
}

template <class Word>
void transpose_matrix(const void* x, void* out, std::int64_t rows, std::int64_t columns) {
  const std::int64_t tiles = ((columns + kTile - 1) / kTile) * ((rows + kTile - 1) / kTile);
  if (tiles == 0) return;
  constexpr std::int64_t kMost = 1 << 20;
  const auto blocks = static_cast<unsigned>(tiles < kMost ? tiles : kMost);
  device::CudaLaunch on("transpose");
  device::cuda_run_kernel(on, &transpose_tiles<Word>, blocks, dim3(kTile, kTileRows),
                          static_cast<const Word*>(x), static_cast<Word*>(out), rows, columns);
  on.finish();
}

struct Axes {
  PermutedAxis axis[kMaxAxes];  // innermost first
  int count;
};

template <class Word>
void permute(const void* x, void* out, std::span<const PermutedAxis> axes) {
  if (axes.size() > kMaxAxes) {
    throw Error("[transpose] " + std::to_string(axes.size()) + " axes: expected at most " +
                std::to_string(kMaxAxes) + " on a CUDA device");
  }
  const auto* const from = static_cast<const Word*>(x);
  auto* const to = static_cast<Word*>(out);
  Axes walk{};
  std::int64_t size = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    walk.axis[walk.count++] = *axis;
    size *= axis->size;
  }
  device::cuda_for_each("transpose", size, [=] __device__(std::int64_t i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (int k = 0; k < walk.count; ++k) {
      at += rest % walk.axis[k].size * walk.axis[k].step;
      rest /= walk.axis[k].size;
    }
    to[i] = from[at];
  });
}

}  // namespace

MatrixKernel transpose_kernel(DType dtype) {
  switch (dtype_size(dtype)) {
    case 1:
      return &transpose_matrix<std::uint8_t>;
    case 2:
      return &transpose_matrix<std::uint16_t>;
    case 4:
      return &transpose_matrix<std::uint32_t>;
    default:
      return &transpose_matrix<std::uint64_t>;
  }
}

PermuteKernel permute_kernel(DType dtype) {
  switch (dtype_size(dtype)) {
    case 1:
      return &permute<std::uint8_t>;
    case 2:
      return &permute<std::uint16_t>;
    case 4:
      return &permute<std::uint32_t>;
    default:
      return &permute<std::uint64_t>;
  }
}

}  // namespace heddle::ops::cuda
