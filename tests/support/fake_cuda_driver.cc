// CUDA's virtual memory management on host memory: addresses are reserved without access, and what
// is mapped may be touched as soon as some GPU may access it. A program that touches anything else
// crashes.

#include "tests/support/fake_cuda_driver.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "tests/support/fake_cuda_memory.h"

namespace heddle::support {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20U;

struct Allocation {
  std::size_t bytes = 0;
  int gpu = 0;
};

struct Driver {
  std::mutex mutex;
  std::map<CUmemGenericAllocationHandle, Allocation> created;
  std::set<CUmemGenericAllocationHandle> released;  // but mapped
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> mapped;
  std::map<int, std::size_t> peer_pages;  // by the GPU that may access them
  CUmemGenericAllocationHandle last = 0;
};

Driver& driver() {
  static auto* const instance = new Driver;
  return *instance;
}

std::atomic<bool> g_is_hidden{false};

CUresult granularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* range, size_t bytes, size_t alignment, CUdeviceptr,
                 unsigned long long) {
  void* const begin = mmap(nullptr, bytes + alignment, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *range = (reinterpret_cast<CUdeviceptr>(begin) + alignment - 1) / alignment * alignment;
  return CUDA_SUCCESS;
}

CUresult abandon(CUdeviceptr range, size_t bytes) {
  munmap(reinterpret_cast<void*>(range), bytes);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* handle, size_t bytes,
                const CUmemAllocationProp* properties, unsigned long long) {
  if (is_fake_cuda_broken()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (bytes % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!take_fake_cuda_memory(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(driver().mutex);
  *handle = ++driver().last;
  driver().created[*handle] = {bytes, properties->location.id};
  return CUDA_SUCCESS;
}

/// The last of release and unmap gives memory back.
void destroy(CUmemGenericAllocationHandle handle) {
  const auto found = driver().created.find(handle);
  give_back_fake_cuda_memory(found->second.bytes);
  driver().created.erase(found);
}

CUresult release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(driver().mutex);
  for (const auto& [begin, mapped] : driver().mapped) {
    if (mapped != handle) continue;
    driver().released.insert(handle);
    return CUDA_SUCCESS;
  }
  destroy(handle);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr begin, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  const std::lock_guard lock(driver().mutex);
  const auto found = driver().created.find(handle);
  if (found == driver().created.end() || found->second.bytes != bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return driver().mapped.emplace(begin, handle).second ? CUDA_SUCCESS : CUDA_ERROR_ALREADY_MAPPED;
}

CUresult unmap(CUdeviceptr begin, size_t bytes) {
  const std::lock_guard lock(driver().mutex);
  for (CUdeviceptr at = begin; at < begin + bytes;) {
    const auto found = driver().mapped.find(at);
    if (found == driver().mapped.end()) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t size = driver().created.at(found->second).bytes;
    madvise(reinterpret_cast<void*>(at), size, MADV_DONTNEED);
    mprotect(reinterpret_cast<void*>(at), size, PROT_NONE);
    if (driver().released.erase(found->second) != 0) destroy(found->second);
    driver().mapped.erase(found);
    at += size;
  }
  return CUDA_SUCCESS;
}

CUresult set_access(CUdeviceptr begin, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  const std::lock_guard lock(driver().mutex);
  for (CUdeviceptr at = begin; at < begin + bytes;) {
    const auto found = driver().mapped.find(at);
    if (found == driver().mapped.end()) return CUDA_ERROR_INVALID_VALUE;
    const Allocation& page = driver().created.at(found->second);
    for (size_t i = 0; i < count; ++i) {
      if (access[i].location.id != page.gpu) ++driver().peer_pages[access[i].location.id];
    }
    at += page.bytes;
  }
  mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE);
  return CUDA_SUCCESS;
}

void* find(std::string_view name) {
  const std::map<std::string_view, void*> functions = {
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&granularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&reserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&abandon)},
      {"cuMemCreate", reinterpret_cast<void*>(&create)},
      {"cuMemRelease", reinterpret_cast<void*>(&release)},
      {"cuMemMap", reinterpret_cast<void*>(&map)},
      {"cuMemUnmap", reinterpret_cast<void*>(&unmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&set_access)}};
  const auto found = functions.find(name);
  return found != functions.end() && !g_is_hidden.load() ? found->second : nullptr;
}

}  // namespace

std::size_t fake_cuda_mapped_bytes() {
  const std::lock_guard lock(driver().mutex);
  std::size_t bytes = 0;
  for (const auto& [begin, handle] : driver().mapped) bytes += driver().created.at(handle).bytes;
  return bytes;
}

std::size_t fake_cuda_peer_pages(int gpu) {
  const std::lock_guard lock(driver().mutex);
  return driver().peer_pages[gpu];
}

void hide_fake_cuda_driver() { g_is_hidden.store(true); }

}  // namespace heddle::support

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *function = heddle::support::find(symbol);
  *found = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
