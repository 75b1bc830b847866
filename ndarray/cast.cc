#include <cstdint>

#include "heddle/engine.h"
#include "heddle/ndarray.h"

#include "ndarray/array_access.h"
#include "ndarray/convert.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"

namespace heddle {
namespace {

template <class From, class To>
void convert_all(const void* from, void* to, std::int64_t size) {
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  for (std::int64_t i = 0; i < size; ++i) target[i] = detail::convert<To>(source[i]);
}

detail::ConvertKernel kernel_for(DType from, DType to) {
  return detail::visit_dtype(from, [to](auto from_type) {
    return detail::visit_dtype(to, [](auto to_type) -> detail::ConvertKernel {
      return convert_all<typename decltype(from_type)::type, typename decltype(to_type)::type>;
    });
  });
}

}  // namespace

NDArray NDArray::astype(DType dtype) const {
  check_not_empty("astype");
  if (dtype == dtype_) return *this;
  NDArray result(shape_, device(), dtype);
  const auto kernel = detail::kernel_for_device(
      "astype", device(), [&] { return kernel_for(dtype_, dtype); },
      [&] { return detail::cuda_convert_kernel(dtype_, dtype); });
  Engine::get().push(
      [kernel, from = *this, result] {
        kernel(ArrayAccess::const_address(from), ArrayAccess::address(result), result.size());
      },
      {var()}, {result.var()},
      {.device = device(),
       .name = "astype",
       .overwrites = true,
       .bytes = static_cast<std::uint64_t>(size()) * (dtype_size(dtype_) + dtype_size(dtype)),
       .capturable = true});
  return result;
}

}  // namespace heddle
