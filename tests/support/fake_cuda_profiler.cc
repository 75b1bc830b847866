#include "tests/support/fake_cuda_profiler.h"

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

// Types only: else NVTX defines the pointer that is defined below, as null.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

namespace heddle::support {
namespace {

struct Seen {
  std::mutex mutex;
  std::deque<std::string> domains;  // guarded by mutex; handles point into it
  std::vector<std::string> ranges;  // guarded by mutex
};

Seen& seen() {
  static auto* const instance = new Seen;
  return *instance;
}

thread_local std::size_t t_depth = 0;

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  const std::lock_guard lock(seen().mutex);
  return reinterpret_cast<nvtxDomainHandle_t>(&seen().domains.emplace_back(name));
}

int NVTX_API push_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const std::lock_guard lock(seen().mutex);
  seen().ranges.push_back(std::string(t_depth, ' ') +
                          *reinterpret_cast<const std::string*>(domain) + ": " +
                          attributes->message.ascii);
  return static_cast<int>(t_depth++);
}

int NVTX_API pop_range(nvtxDomainHandle_t) {
  const std::lock_guard lock(seen().mutex);
  seen().ranges.push_back(std::string(--t_depth, ' ') + "end");
  return static_cast<int>(t_depth);
}

/// What the library of a profiler does when NVTX finds it.
int NVTX_API attach(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push_range);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop_range);
  return 1;
}

}  // namespace

std::vector<std::string> take_ranges() {
  const std::lock_guard lock(seen().mutex);
  return std::exchange(seen().ranges, {});
}

}  // namespace heddle::support

extern "C" {
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr;
NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr = &heddle::support::attach;
}
