#include "engine/device/cuda_for_each.h"
#include "ops/cuda_index.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

template <class Word>
void take_words(const Blocks& blocks, const IndexReader& indices, std::int64_t count,
                const void* from, void* to) {
  const auto words = static_cast<std::int64_t>(blocks.bytes / sizeof(Word));
  const std::int64_t total = blocks.outer * count * words;
  if (total == 0 && blocks.outer * count == 0) return;
  const auto* const source = static_cast<const Word*>(from);
  auto* const target = static_cast<Word*>(to);
  const std::int64_t size = blocks.size;
  device::CudaLaunch on("take");
  const CudaIndices reader(on, indices);
  if (total == 0) {
    // Nothing to move, but an index may be wrong all the same.
    device::cuda_for_each(on, count, [=] __device__(std::int64_t i) { reader[i]; });
  }
  device::cuda_for_each(on, total, [=] __device__(std::int64_t i) {
    const std::int64_t block = i / words;
    const std::int64_t row = block / count * size + reader[block % count];
    target[i] = source[row * words + i % words];
  });
  on.finish();
}

void take(const Blocks& blocks, const IndexReader& indices, std::int64_t count, const void* from,
          void* to, std::size_t width) {
  switch (width) {
    case 1:
      return take_words<std::uint8_t>(blocks, indices, count, from, to);
    case 2:
      return take_words<std::uint16_t>(blocks, indices, count, from, to);
    case 4:
      return take_words<std::uint32_t>(blocks, indices, count, from, to);
    default:
      return take_words<std::uint64_t>(blocks, indices, count, from, to);
  }
}

void one_hot(const IndexReader& indices, std::int64_t count, std::int64_t depth, float* out) {
  if (count == 0) return;
  device::CudaLaunch on("one_hot");
  const CudaIndices reader(on, indices);
  device::cuda_for_each(on, count * depth, [=] __device__(std::int64_t i) {
    out[i] = reader[i / depth] == i % depth ? 1.0F : 0.0F;
  });
  on.finish();
}

void copy_rows(const void* from, std::size_t from_pitch, void* to, std::size_t to_pitch,
               std::size_t bytes, std::int64_t rows) {
  if (bytes == 0 || rows == 0) return;
  device::CudaLaunch on("concat");
  on.check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, static_cast<std::size_t>(rows),
                             cudaMemcpyDeviceToDevice, on.stream()),
           "cudaMemcpy2DAsync");
  on.finish();
}

}  // namespace

TakeKernel take_kernel() { return &take; }
OneHotKernel one_hot_kernel() { return &one_hot; }
CopyRowsKernel copy_rows_kernel() { return &copy_rows; }

}  // namespace heddle::ops::cuda
