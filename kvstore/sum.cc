#include "kvstore/sum.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "heddle/engine.h"

#include "kvstore/add.h"
#include "kvstore/transfer.h"
#include "ndarray/array_access.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"
#include "ops/vectorize.h"

namespace heddle::kvstore {

namespace {

/// Elements that are summed over all inputs before the next ones: few enough to stay in the first
/// level cache between passes.
constexpr std::int64_t kBlock = 2048;
constexpr std::size_t kInputsPerPass = 4;

/// out = the sum of two to four inputs; `out` may be the first.
template <class T>
void add_up(std::span<const T* const> in, T* out, std::int64_t count) {
  if (in.size() == 2) {
    ops::vectorized(
        [](const T* a, const T* b, T* to, std::int64_t n) HEDDLE_INLINE_LAMBDA {
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < n; ++i) to[i] = add(a[i], b[i]);
        },
        in[0], in[1], out, count);
  } else if (in.size() == 3) {
    ops::vectorized(
        [](const T* a, const T* b, const T* c, T* to, std::int64_t n) HEDDLE_INLINE_LAMBDA {
          HEDDLE_INDEPENDENT
          for (std::int64_t i = 0; i < n; ++i) to[i] = add(add(a[i], b[i]), c[i]);
        },
        in[0], in[1], in[2], out, count);
  } else {
    ops::vectorized(
        [](const T* a, const T* b, const T* c, const T* d, T* to, std::int64_t n)
            HEDDLE_INLINE_LAMBDA {
              HEDDLE_INDEPENDENT
              for (std::int64_t i = 0; i < n; ++i) {
                to[i] = add(add(add(a[i], b[i]), c[i]), d[i]);
              }
            },
        in[0], in[1], in[2], in[3], out, count);
  }
}

/// One block: the sum so far is the first input of each pass but the first.
template <class T>
void sum_block(std::span<const std::byte* const> inputs, T* out, std::int64_t begin,
               std::int64_t count) {
  const T* pass[kInputsPerPass];
  std::size_t used = 0;
  for (std::size_t next = 0; next < inputs.size();) {
    while (used < kInputsPerPass && next < inputs.size()) {
      pass[used++] = reinterpret_cast<const T*>(inputs[next++]) + begin;
    }
    add_up(std::span<const T* const>(pass, used), out + begin, count);
    pass[0] = out + begin;
    used = 1;
  }
}

template <class T>
void sum(std::span<const std::byte* const> inputs, std::byte* out, std::int64_t count) {
  if (count == 0) return;
  if (inputs.size() == 1) {
    std::memcpy(out, inputs[0], static_cast<std::size_t>(count) * sizeof(T));
    return;
  }
  const std::int64_t block = inputs.size() <= kInputsPerPass ? std::max(count, kBlock) : kBlock;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    sum_block(inputs, reinterpret_cast<T*>(out), begin, std::min(block, count - begin));
  }
}

SumKernel cpu_kernel(DType dtype) {
  return detail::visit_dtype(
      dtype, [](auto type) -> SumKernel { return &sum<typename decltype(type)::type>; });
}

}  // namespace

SumKernel sum_kernel(Device device, DType dtype) {
  return detail::kernel_for_device(
      "kvstore.sum", device, [dtype] { return cpu_kernel(dtype); },
      [dtype] { return cuda_sum_kernel(dtype); });
}

void push_sum(std::vector<NDArray> inputs, const NDArray& out, int priority) {
  const std::vector<Var> reads = vars_of(inputs);
  const bool brief = are_brief(inputs, out);
  const auto elements = static_cast<std::uint64_t>(out.size());
  const std::uint64_t arrays = inputs.size();
  Engine::get().push(
      [inputs = std::move(inputs), out, kernel = sum_kernel(out.device(), out.dtype())] {
        kernel(addresses_of(inputs), static_cast<std::byte*>(ArrayAccess::address(out)),
               out.size());
      },
      reads, {out.var()},
      {.device = out.device(),
       .lane = sum_lane(out.device()),
       .priority = priority,
       .name = "kvstore.sum",
       .overwrites = ArrayAccess::covers_block(out),
       .brief = brief,
       .flops = static_cast<double>((arrays - 1) * elements),
       .bytes = (arrays + 1) * elements * dtype_size(out.dtype()),
       .capturable = true});
}

std::vector<const std::byte*> addresses_of(std::span<const NDArray> arrays) {
  std::vector<const std::byte*> addresses;
  addresses.reserve(arrays.size());
  for (const NDArray& array : arrays) {
    addresses.push_back(static_cast<const std::byte*>(ArrayAccess::const_address(array)));
  }
  return addresses;
}

}  // namespace heddle::kvstore
