#include <cstring>

#include "engine/device/cuda_for_each.h"
#include "engine/device/cuda_transform.h"
#include "ndarray/convert.h"
#include "ndarray/cuda_kernels.h"
#include "ndarray/dispatch.h"

namespace heddle::detail {
namespace {

template <class Word>
void fill_words(void* first, std::int64_t size, const void* element) {
  Word value;
  std::memcpy(&value, element, sizeof(value));
  device::cuda_transform("fill", size, static_cast<Word*>(first), [=] __device__ { return value; });
}

void fill(void* first, std::int64_t size, const void* element, std::size_t width) {
  switch (width) {
    case 1:
      return fill_words<std::uint8_t>(first, size, element);
    case 2:
      return fill_words<std::uint16_t>(first, size, element);
    case 4:
      return fill_words<std::uint32_t>(first, size, element);
    default:
      return fill_words<std::uint64_t>(first, size, element);
  }
}

template <class T>
void fill_progression(const Progression& progression, void* first, std::int64_t size) {
  auto* const to = static_cast<T*>(first);
  device::cuda_for_each("arange", size, [=] __device__(std::int64_t i) {
    to[i] = progression_element<T>(progression, i);
  });
}

}  // namespace

FillKernel cuda_fill_kernel() { return &fill; }

ProgressionKernel cuda_progression_kernel(DType dtype) {
  return visit_dtype(dtype, [](auto type) -> ProgressionKernel {
    return &fill_progression<typename decltype(type)::type>;
  });
}

}  // namespace heddle::detail
