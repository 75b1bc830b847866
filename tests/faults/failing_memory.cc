#include "tests/faults/failing_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint32_t> g_every{0};  // 0: none fails
std::atomic<std::uint32_t> g_count{0};
std::atomic<std::uint64_t> g_failures{0};
thread_local std::uint32_t t_every = 0;
thread_local std::uint32_t t_count = 0;

bool fails() {
  const std::uint32_t every = g_every.load(std::memory_order_relaxed);
  const bool global = every != 0 && g_count.fetch_add(1, std::memory_order_relaxed) % every == 0;
  const bool own = t_every != 0 && t_count++ % t_every == 0;
  if (!global && !own) return false;
  g_failures.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const block = allocate(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

constexpr std::size_t kAlignment = alignof(std::max_align_t);

}  // namespace

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate(bytes, alignment);
}

// Those of arrays call these, but under a sanitizer they are its own.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, kAlignment); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, kAlignment); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*nothrow*/) noexcept {
  return allocate(bytes, kAlignment);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*nothrow*/) noexcept {
  return allocate(bytes, kAlignment);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t /*bytes*/) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t /*bytes*/) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept { std::free(block); }
void operator delete[](void* block, std::align_val_t /*alignment*/) noexcept { std::free(block); }
void operator delete(void* block, std::size_t /*bytes*/, std::align_val_t /*a*/) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t /*bytes*/, std::align_val_t /*a*/) noexcept {
  std::free(block);
}

namespace heddle::faults {

FailingMemory::FailingMemory(Of threads, std::uint32_t every) {
  if (threads == Of::kThisThread) {
    t_every = every;
  } else {
    g_every.store(every);
  }
}

FailingMemory::~FailingMemory() {
  t_every = 0;
  g_every.store(0);
}

std::uint64_t FailingMemory::failures() { return g_failures.load(); }

}  // namespace heddle::faults
