#include "engine/device/cuda_ranges.h"

namespace heddle::device {

CudaRange::CudaRange(std::string_view /*name*/, std::uint64_t /*sequence*/) noexcept {}

void CudaRange::end() noexcept {}

}  // namespace heddle::device
