#include "questions/heap.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

// The C library's own, under the names by which it lets others wrap them.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace bench::engine {
namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> count{0};

void note() {
  if (counting.load(std::memory_order_relaxed)) count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

AllocationCount::AllocationCount() {
  count = 0;
  counting = true;
}

AllocationCount::~AllocationCount() { counting = false; }

std::uint64_t AllocationCount::calls() const { return count; }

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  std::size_t resident_pages = 0;
  file >> pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void merge_free_blocks() {
  constexpr std::size_t kLarge = 2048;  // what glibc calls so begins at 1024 bytes
  std::free(__libc_malloc(kLarge));
}

void trim_heap() { malloc_trim(0); }

}  // namespace bench::engine

using bench::engine::note;

extern "C" {

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  note();
  return __libc_calloc(count, size);
}

void* realloc(void* block, std::size_t size) {
  note();
  return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  note();
  void* const result = __libc_memalign(alignment, size);
  if (result == nullptr) return ENOMEM;
  *block = result;
  return 0;
}
}
