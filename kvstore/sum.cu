#include <algorithm>

#include "engine/device/cuda_for_each.h"
#include "kvstore/add.h"
#include "kvstore/sum.h"
#include "ndarray/dispatch.h"

namespace heddle::kvstore {
namespace {

constexpr int kInputsPerPass = 8;

template <class T>
struct Inputs {
  const T* of[kInputsPerPass];
  int count;
};

template <class T>
void sum(std::span<const std::byte* const> inputs, std::byte* out, std::int64_t count) {
  if (count == 0) return;
  auto* const to = reinterpret_cast<T*>(out);
  device::CudaLaunch on("kvstore.sum");
  // The sum so far is the first input of each pass but the first.
  for (std::size_t next = 0; next < inputs.size();) {
    Inputs<T> pass{};
    if (next > 0) pass.of[pass.count++] = to;
    while (pass.count < kInputsPerPass && next < inputs.size()) {
      pass.of[pass.count++] = reinterpret_cast<const T*>(inputs[next++]);
    }
    device::cuda_for_each(on, count, [=] __device__(std::int64_t i) {
      T total = pass.of[0][i];
      for (int k = 1; k < pass.count; ++k) total = add(total, pass.of[k][i]);
      to[i] = total;
    });
  }
  on.finish();
}

}  // namespace

SumKernel cuda_sum_kernel(DType dtype) {
  return detail::visit_dtype(
      dtype, [](auto type) -> SumKernel { return &sum<typename decltype(type)::type>; });
}

}  // namespace heddle::kvstore
