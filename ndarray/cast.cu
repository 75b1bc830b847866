#include "engine/device/cuda_transform.h"
#include "ndarray/convert.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"

namespace heddle::detail {
namespace {

template <class From, class To>
void convert_all(const void* from, void* to, std::int64_t size) {
  device::cuda_transform(
      "astype", size, static_cast<To*>(to),
      [] __device__(From element) { return convert<To>(element); }, static_cast<const From*>(from));
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
