#include "engine/device/cuda_ranges.h"

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdio>

#include <nvtx3/nvToolsExt.h>

namespace heddle::device {
namespace {

constexpr std::size_t kLongestName = 255;

/// Null where nobody listens. The first call has NVTX look for a profiler: it opens the library
/// that NVTX_INJECTION64_PATH names, and without that variable none.
nvtxDomainHandle_t domain() noexcept {
  static nvtxDomainHandle_t const created = nvtxDomainCreateA("heddle");
  return created;
}

void begin(std::string_view name, std::uint64_t sequence) noexcept {
  std::array<char, kLongestName + 1> text{};
  if (name.empty()) {
    std::snprintf(text.data(), text.size(), "#%" PRIu64, sequence);
  } else {
    name.copy(text.data(), kLongestName);
  }
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text.data();
  nvtxDomainRangePushEx(domain(), &attributes);
}

}  // namespace

CudaRange::CudaRange(std::string_view name, std::uint64_t sequence) noexcept {
  if (domain() != nullptr) begin(name, sequence);
}

void CudaRange::end() noexcept {
  if (domain() != nullptr) nvtxDomainRangePop(domain());
}

}  // namespace heddle::device
