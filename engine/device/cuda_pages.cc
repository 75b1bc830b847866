#include "engine/device/cuda_pages.h"

#include <algorithm>
#include <mutex>
#include <new>

#include <cuda_runtime_api.h>

#include "engine/device/cuda_gpu.h"

namespace heddle::device {
namespace {

/// A page is this large, or as large as the GPU wants it: each is an allocation of the driver's.
constexpr std::size_t kGoodPage = std::size_t{16} << 20U;

/// The driver functions below are as they have been since this version.
constexpr unsigned int kDriverVersion = 12000;

template <class Function>
bool find(const char* name, Function& function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t result =
      cudaGetDriverEntryPointByVersion(name, &address, kDriverVersion, cudaEnableDefault, &found);
  static_cast<void>(cudaGetLastError());
  function = reinterpret_cast<Function>(address);  // NOLINT: that is how the runtime gives them
  return result == cudaSuccess && found == cudaDriverEntryPointSuccess && address != nullptr;
}

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {};
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

CUdeviceptr address_of(const void* pages) {
  return reinterpret_cast<CUdeviceptr>(pages);  // NOLINT: the driver's type of an address
}

}  // namespace

struct CudaPages::Driver {
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) abandon = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
};

const CudaPages::Driver* CudaPages::find_driver() {
  static Driver driver;
  static const bool is_there =
      find("cuMemGetAllocationGranularity", driver.granularity) &&
      find("cuMemAddressReserve", driver.reserve) && find("cuMemAddressFree", driver.abandon) &&
      find("cuMemCreate", driver.create) && find("cuMemRelease", driver.release) &&
      find("cuMemMap", driver.map) && find("cuMemUnmap", driver.unmap) &&
      find("cuMemSetAccess", driver.set_access);
  return is_there ? &driver : nullptr;
}

std::shared_ptr<CudaPages> CudaPages::make(CudaGpu& gpu) {
  const Driver* const driver = find_driver();
  if (driver == nullptr) return nullptr;
  const CUmemAllocationProp properties = properties_of(gpu.index());
  std::size_t least = 0;
  if (driver->granularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      least == 0) {
    return nullptr;
  }
  std::shared_ptr<CudaPages> pages(new CudaPages(gpu, *driver, std::max(least, kGoodPage)));
  return pages->try_one() ? pages : nullptr;
}

CudaPages::CudaPages(CudaGpu& gpu, const Driver& driver, std::size_t page)
    : gpu_(gpu), driver_(driver), page_(page) {}

bool CudaPages::try_one() {
  void* const range = reserve(page_);
  if (range == nullptr) return false;
  const bool is_mapped = map_page(address_of(range)) == CUDA_SUCCESS &&
                         allow(address_of(range), page_, gpu_.index()) == CUDA_SUCCESS;
  static_cast<void>(driver_.unmap(address_of(range), page_));
  abandon(range, page_);
  return is_mapped;
}

PagedMemory CudaPages::memory() {
  const std::shared_ptr<CudaPages> self = shared_from_this();
  return {.least_page = page_,
          .good_page = page_,
          .reserve = [self](std::size_t bytes) { return self->reserve(bytes); },
          .abandon = [self](void* range, std::size_t bytes) { self->abandon(range, bytes); },
          .map = [self](void* at, std::size_t bytes) { return self->map(address_of(at), bytes); },
          .unmap = [self](void* at, std::size_t bytes) { self->unmap(address_of(at), bytes); }};
}

void* CudaPages::reserve(std::size_t bytes) noexcept {
  CUdeviceptr range = 0;
  if (driver_.reserve(&range, bytes, page_, 0, 0) != CUDA_SUCCESS) return nullptr;
  return reinterpret_cast<void*>(range);  // NOLINT: the driver's type of an address
}

void CudaPages::abandon(void* range, std::size_t bytes) noexcept {
  static_cast<void>(driver_.abandon(address_of(range), bytes));
}

/// False if there is no memory; what is worse than that makes the GPU lost.
bool CudaPages::map(CUdeviceptr begin, std::size_t bytes) noexcept {
  if (gpu_.is_lost()) return false;
  const CudaCurrent current(gpu_);
  const std::lock_guard lock(mutex_);
  CUresult result = CUDA_SUCCESS;
  std::size_t done = 0;
  for (; done < bytes && result == CUDA_SUCCESS; done += page_) result = map_page(begin + done);
  if (result != CUDA_SUCCESS) done -= page_;  // the last one has not been mapped
  if (result == CUDA_SUCCESS) result = allow(begin, bytes, gpu_.index());
  for (const int peer : peers_) {
    // Without it copies go through the host: slower, not wrong.
    if (result == CUDA_SUCCESS) static_cast<void>(allow(begin, bytes, peer));
  }
  try {
    for (std::size_t i = 0; i < done; i += page_) mapped_.insert(begin + i);
  } catch (const std::bad_alloc&) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result == CUDA_SUCCESS) return true;
  for (std::size_t i = 0; i < done; i += page_) mapped_.erase(begin + i);
  unmap_each(begin, done);
  // Both name errors by the same numbers.
  if (result != CUDA_ERROR_OUT_OF_MEMORY) gpu_.lose(static_cast<cudaError_t>(result), "cuMemMap");
  return false;
}

/// With memory that is the page's alone, so it is free when that is unmapped.
CUresult CudaPages::map_page(CUdeviceptr page) noexcept {
  const CUmemAllocationProp properties = properties_of(gpu_.index());
  CUmemGenericAllocationHandle memory = 0;
  const CUresult created = driver_.create(&memory, page_, &properties, 0);
  if (created != CUDA_SUCCESS) return created;
  const CUresult mapped = driver_.map(page, page_, 0, memory, 0);
  static_cast<void>(driver_.release(memory));
  return mapped;
}

CUresult CudaPages::allow(CUdeviceptr begin, std::size_t bytes, int device) noexcept {
  CUmemAccessDesc access{};
  access.location = properties_of(device).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver_.set_access(begin, bytes, &access, 1);
}

void CudaPages::unmap(CUdeviceptr begin, std::size_t bytes) noexcept {
  const CudaCurrent current(gpu_);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < bytes; i += page_) mapped_.erase(begin + i);
  unmap_each(begin, bytes);
}

/// Page by page, as each was mapped. A page that stays mapped could not be mapped again.
void CudaPages::unmap_each(CUdeviceptr begin, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += page_) {
    const CUresult result = driver_.unmap(begin + i, page_);
    if (result != CUDA_SUCCESS) gpu_.lose(static_cast<cudaError_t>(result), "cuMemUnmap");
  }
}

void CudaPages::let_access(int peer) noexcept {
  const std::lock_guard lock(mutex_);
  if (std::find(peers_.begin(), peers_.end(), peer) != peers_.end()) return;
  for (const CUdeviceptr page : mapped_) static_cast<void>(allow(page, page_, peer));
  try {
    peers_.push_back(peer);
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace heddle::device
