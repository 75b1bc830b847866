#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/device/raw_memory.h"
#include "engine/device/size_class.h"

namespace heddle::device {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20U;

void* allocate(std::size_t bytes) noexcept {
  void* block = nullptr;
  const bool is_large = bytes >= kHugePage;
  if (posix_memalign(&block, is_large ? kHugePage : kBlockAlignment, bytes) != 0) return nullptr;
  if (is_large)
    madvise(block, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // a wish: it may fail
  return block;
}

/// Addresses must not be so scarce that others have too few, nor cost the memory that they are for.
bool may_reserve(std::size_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur / 2) {
    return false;
  }
  std::FILE* const file = std::fopen("/proc/sys/vm/overcommit_memory", "r");
  if (file == nullptr) return true;
  constexpr int kNeverLends = '2';
  const bool lends = std::fgetc(file) != kNeverLends;
  std::fclose(file);
  return lends;
}

/// The system gives memory to a page when it is touched, so to reserve addresses is all there is to
/// do.
void* reserve(std::size_t bytes) noexcept {
  if (!may_reserve(bytes)) return nullptr;
  void* const mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  if (skipped != 0) munmap(begin, skipped);
  munmap(begin + skipped + bytes, kHugePage - skipped);
  return begin + skipped;
}

bool map(void* pages, std::size_t bytes) noexcept {
  const bool is_huge = (reinterpret_cast<std::uintptr_t>(pages) | bytes) % kHugePage == 0;
  if (is_huge) madvise(pages, bytes, MADV_HUGEPAGE);  // a wish: it may fail
  return true;
}

}  // namespace

RawMemory host_memory() {
  return {.allocate = allocate,
          .release = [](void* block, std::size_t) { std::free(block); },
          .is_host = true,
          .fill = [](void* block, std::size_t bytes) { std::memset(block, kNaNs, bytes); },
          .pages = {.least_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)),
                    .good_page = kHugePage,
                    .reserve = reserve,
                    .abandon = [](void* range, std::size_t bytes) { munmap(range, bytes); },
                    .map = map,
                    .unmap = [](void* pages,
                                std::size_t bytes) { madvise(pages, bytes, MADV_DONTNEED); }}};
}

}  // namespace heddle::device
