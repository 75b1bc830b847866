#include "engine/device/memory_pool.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "heddle/error.h"

#include "engine/base/asan.h"

namespace heddle::device {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLargestRequest = std::size_t{1} << 62U;  // no class size overflows

std::string readable(std::size_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace

RawMemory host_memory() {
  return {[](std::size_t bytes) { return std::aligned_alloc(kAlignment, bytes); },
          [](void* block, std::size_t) { std::free(block); }};
}

MemoryPool::MemoryPool(std::string owner, RawMemory raw, PoolLimits limits)
    : owner_(std::move(owner)), raw_(std::move(raw)), limits_(limits) {}

MemoryPool::~MemoryPool() { trim(); }

std::size_t MemoryPool::class_size(std::size_t bytes) {
  if (bytes <= kAlignment) return kAlignment;
  const std::size_t step = std::max(kAlignment, std::bit_floor(bytes - 1) / 4);
  return (bytes + step - 1) / step * step;
}

// A class size s with 2^e < s <= 2^(e+1) is 2^e and one to four quarters of it.
std::size_t MemoryPool::class_index(std::size_t class_bytes) {
  const std::size_t below = std::bit_floor(class_bytes - 1);
  const auto exponent = static_cast<std::size_t>(std::countr_zero(below));
  return 4 * exponent + (class_bytes - below) / (below / 4) - 1;
}

void* MemoryPool::allocate(std::size_t bytes) {
  if (bytes > kLargestRequest) fail(bytes);
  const std::size_t size = class_size(bytes);
  void* block = take_cached(size);
  for (int attempt = 0; block == nullptr; ++attempt) {
    if (reserve(size)) {
      block = raw_.allocate(size);
      if (block == nullptr) cancel_reservation(size);
    }
    if (block != nullptr) {
      poison(block, size);
    } else if (attempt == 0) {
      trim();
    } else {
      fail(bytes);
    }
  }
  unpoison(block, bytes);
  return block;
}

void* MemoryPool::take_cached(std::size_t class_bytes) {
  const std::lock_guard lock(mutex_);
  SizeClass& size_class = classes_[class_index(class_bytes)];
  size_class.last_use = ++clock_;
  if (size_class.blocks.empty()) return nullptr;
  void* block = size_class.blocks.back();
  size_class.blocks.pop_back();
  statistics_.cached_bytes -= class_bytes;
  statistics_.live_bytes += class_bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
  ++statistics_.hits;
  return block;
}

bool MemoryPool::reserve(std::size_t class_bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t used = statistics_.live_bytes + statistics_.cached_bytes;
  if (class_bytes > limits_.budget || used > limits_.budget - class_bytes) return false;
  statistics_.live_bytes += class_bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
  ++statistics_.misses;
  return true;
}

void MemoryPool::cancel_reservation(std::size_t class_bytes) {
  const std::lock_guard lock(mutex_);
  statistics_.live_bytes -= class_bytes;
  --statistics_.misses;
}

void MemoryPool::deallocate(void* block, std::size_t bytes) noexcept {
  const std::size_t size = class_size(bytes);
  poison(block, size);
  bool cached = true;
  bool too_many = false;
  {
    const std::lock_guard lock(mutex_);
    SizeClass& size_class = classes_[class_index(size)];
    try {
      size_class.blocks.push_back(block);
    } catch (const std::bad_alloc&) {
      cached = false;  // no room even for the pointer: give the block itself back
    }
    size_class.last_use = ++clock_;
    statistics_.live_bytes -= size;
    if (cached) statistics_.cached_bytes += size;
    too_many = statistics_.cached_bytes > limits_.cache_limit;
  }
  if (!cached) {
    unpoison(block, size);
    raw_.release(block, size);
  }
  if (too_many) trim(limits_.cache_limit);
}

void MemoryPool::trim(std::size_t keep) noexcept {
  for (;;) {
    const Victim victim = take_victim(keep);
    if (victim.block == nullptr) return;
    unpoison(victim.block, victim.bytes);
    raw_.release(victim.block, victim.bytes);
  }
}

MemoryPool::Victim MemoryPool::take_victim(std::size_t keep) noexcept {
  const std::lock_guard lock(mutex_);
  if (statistics_.cached_bytes <= keep) return {};
  SizeClass* oldest = nullptr;
  for (SizeClass& size_class : classes_) {
    if (size_class.blocks.empty()) continue;
    if (oldest == nullptr || size_class.last_use < oldest->last_use) oldest = &size_class;
  }
  const auto index = static_cast<std::size_t>(oldest - classes_.data());
  const std::size_t below = std::size_t{1} << (index / 4);
  const Victim victim = {oldest->blocks.back(), below + (index % 4 + 1) * (below / 4)};
  oldest->blocks.pop_back();
  statistics_.cached_bytes -= victim.bytes;
  return victim;
}

void MemoryPool::poison(const void* block, std::size_t bytes) const noexcept {
  if (raw_.is_host) base::poison(block, bytes);
}

void MemoryPool::unpoison(const void* block, std::size_t bytes) const noexcept {
  if (raw_.is_host) base::unpoison(block, bytes);
}

PoolStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void MemoryPool::fail(std::size_t bytes) const {
  const PoolStatistics now = statistics();
  throw OutOfMemory("[" + owner_ + "] out of memory: " + readable(bytes) + " requested, " +
                    readable(now.live_bytes) + " live, " + readable(now.cached_bytes) +
                    " cached, budget " + readable(limits_.budget));
}

}  // namespace heddle::device
