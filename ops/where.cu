#include "engine/device/cuda_for_each.h"
#include "ops/cuda_broadcast.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

template <class Word>
void select(const std::uint8_t* condition, const void* a, const void* b, void* out,
            const BroadcastPlan& plan) {
  const auto* const x = static_cast<const Word*>(a);
  const auto* const y = static_cast<const Word*>(b);
  auto* const to = static_cast<Word*>(out);
  const CudaBroadcast broadcast("where", plan);
  device::cuda_for_each("where", broadcast.size(), [=] __device__(std::int64_t i) {
    const CudaBroadcast::Offsets at = broadcast.offsets(i);
    to[i] = condition[at.of[0]] != 0 ? x[at.of[1]] : y[at.of[2]];
  });
}

}  // namespace

WhereKernel where_kernel(DType dtype) {
  switch (dtype_size(dtype)) {
    case 1:
      return &select<std::uint8_t>;
    case 2:
      return &select<std::uint16_t>;
    case 4:
      return &select<std::uint32_t>;
    default:
      return &select<std::uint64_t>;
  }
}

}  // namespace heddle::ops::cuda
