#include "engine/device/cuda_for_each.h"
#include "ops/cuda_row.h"
#include "ops/kernels.h"

namespace heddle::ops::cuda {
namespace {

constexpr int kBlockThreads = 1024;
/// A row that is longer is worked on by a block instead of a warp.
constexpr std::int64_t kLongRow = 1 << 15;

/// One block per row, each thread with every 1024th element, in a fixed order.
template <class R, class T>
__global__ void reduce_long_rows(const T* from, typename R::Result* to, std::int64_t n) {
  using Accumulator = typename R::Accumulator;
  __shared__ Accumulator of_warps[kWarp];
  const T* const row = from + std::int64_t{blockIdx.x} * n;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Accumulator total = R::kStart;
  for (std::int64_t i = threadIdx.x; i < n; i += kBlockThreads) {
    total = R::join(total, R::widen(row[i]));
  }
  for (int width = kWarp / 2; width > 0; width /= 2) {
    total = R::join(total, from_behind(total, width));
  }
  if (lane == 0) of_warps[threadIdx.x / kWarp] = total;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kBlockThreads / kWarp; ++warp) total = R::join(total, of_warps[warp]);
  to[blockIdx.x] = R::finish(total, n);
}

template <class R, class T>
void reduce(const char* what, const void* x, void* out, Extent e) {
  const T* const from = static_cast<const T*>(x);
  auto* const to = static_cast<typename R::Result*>(out);
  if (e.outer * e.inner == 0) return;
  device::CudaLaunch on(what);
  if (e.inner == 1 && e.n > kLongRow && e.outer < (1 << 16)) {
    device::cuda_run_kernel(on, &reduce_long_rows<R, T>, static_cast<unsigned>(e.outer),
                            kBlockThreads, from, to, e.n);
  } else if (e.inner == 1) {
    cuda_for_rows(on, e.outer, [=] __device__(std::int64_t row, int lane) {
      const T* const elements = from + row * e.n;
      const auto total = warp_reduce_row<R>([=](std::int64_t i) { return elements[i]; }, e.n, lane);
      if (lane == 0) to[row] = R::finish(total, e.n);
    });
  } else {
    device::cuda_for_each(on, e.outer * e.inner, [=] __device__(std::int64_t i) {
      const T* const column = from + i / e.inner * e.n * e.inner + i % e.inner;
      typename R::Accumulator total = R::kStart;
      for (std::int64_t k = 0; k < e.n; ++k) total = R::join(total, R::widen(column[k * e.inner]));
      to[i] = R::finish(total, e.n);
    });
  }
  on.finish();
}

template <class T>
struct Candidate {
  T value;
  std::int64_t position;
};

/// True if `a` is what argmax prefers: the first NaN, else the first of the greatest.
template <class T>
__device__ bool goes_before(const Candidate<T>& a, const Candidate<T>& b) {
  const bool a_is_nan = a.value != a.value;
  const bool b_is_nan = b.value != b.value;
  if (a_is_nan != b_is_nan) return a_is_nan;
  if (a_is_nan || a.value == b.value) return a.position < b.position;
  return a.value > b.value;
}

/// A warp per result, or a thread if there is little to choose from; n > 0.
template <class T>
void argmax(const void* x, void* out, Extent e) {
  const T* const from = static_cast<const T*>(x);
  auto* const to = static_cast<std::int64_t*>(out);
  device::CudaLaunch on("argmax");
  if (e.n < kWarp) {
    device::cuda_for_each(on, e.outer * e.inner, [=] __device__(std::int64_t row) {
      const T* const first = from + row / e.inner * e.n * e.inner + row % e.inner;
      Candidate<T> best{first[0], 0};
      for (std::int64_t i = 1; i < e.n; ++i) {
        const Candidate<T> next{first[i * e.inner], i};
        if (goes_before(next, best)) best = next;
      }
      to[row] = best.position;
    });
    return on.finish();
  }
  cuda_for_rows(on, e.outer * e.inner, [=] __device__(std::int64_t row, int lane) {
    const T* const first = from + row / e.inner * e.n * e.inner + row % e.inner;
    Candidate<T> best{first[0], 0};
    for (std::int64_t i = lane; i < e.n; i += kWarp) {
      const Candidate<T> next{first[i * e.inner], i};
      if (goes_before(next, best)) best = next;
    }
    for (int width = kWarp / 2; width > 0; width /= 2) {
      const Candidate<T> next{from_behind(best.value, width), from_behind(best.position, width)};
      if (goes_before(next, best)) best = next;
    }
    if (lane == 0) to[row] = best.position;
  });
  on.finish();
}

template <class T>
void sum(const void* x, void* out, Extent e) {
  reduce<Sum<T>, T>("sum", x, out, e);
}
template <class T>
void mean(const void* x, void* out, Extent e) {
  reduce<Mean<T>, T>("mean", x, out, e);
}
template <class T>
void max(const void* x, void* out, Extent e) {
  reduce<Max<T>, T>("max", x, out, e);
}
template <class T>
void min(const void* x, void* out, Extent e) {
  reduce<Min<T>, T>("min", x, out, e);
}

template <class T>
ReduceKernel kernel_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return &sum<T>;
    case Reduction::kMean:
      if constexpr (std::is_floating_point_v<T>) return &mean<T>;
      return nullptr;
    case Reduction::kMax:
      return &max<T>;
    case Reduction::kMin:
      return &min<T>;
    case Reduction::kArgmax:
      return &argmax<T>;
  }
  return nullptr;
}

}  // namespace

ReduceKernel reduce_kernel(Reduction reduction, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return kernel_of<float>(reduction);
    case DType::kFloat64:
      return kernel_of<double>(reduction);
    case DType::kInt8:
      return kernel_of<std::int8_t>(reduction);
    case DType::kUInt8:
      return kernel_of<std::uint8_t>(reduction);
    case DType::kInt32:
      return kernel_of<std::int32_t>(reduction);
    case DType::kInt64:
      return kernel_of<std::int64_t>(reduction);
    case DType::kBool:
      return kernel_of<Bool>(reduction);
    default:
      return nullptr;
  }
}

}  // namespace heddle::ops::cuda
