#include "engine/device/cuda_for_each.h"
#include "ndarray/convert.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"

namespace heddle::detail {
namespace {

template <class From, class To>
void convert_all(const void* from, void* to, std::int64_t size) {
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  device::cuda_for_each("astype", size,
                        [=] __device__(std::int64_t i) { target[i] = convert<To>(source[i]); });
}

template <class From>
ConvertKernel kernel_from(DType to) {
  return visit_dtype(to, [](auto to_type) -> ConvertKernel {
    return &convert_all<From, typename decltype(to_type)::type>;
  });
}

}  // namespace

ConvertKernel cuda_convert_kernel(DType from, DType to) {
  return visit_dtype(
      from, [to](auto from_type) { return kernel_from<typename decltype(from_type)::type>(to); });
}

}  // namespace heddle::detail
