#include "engine/device/memory_quota.h"

#include <utility>

#include "heddle/error.h"

#include "engine/device/quantity.h"

namespace heddle::device {

MemoryQuota::MemoryQuota(std::string owner, std::size_t bytes)
    : owner_(std::move(owner)), bytes_(bytes) {}

void MemoryQuota::take(std::size_t bytes) {
  std::size_t live = live_bytes();
  do {
    if (bytes > bytes_ - live) throw OutOfMemory(refusal(bytes));
  } while (!live_.compare_exchange_weak(live, live + bytes, std::memory_order_relaxed));
}

void MemoryQuota::give_back(std::size_t bytes) noexcept {
  live_.fetch_sub(bytes, std::memory_order_relaxed);
}

std::string MemoryQuota::refusal(std::size_t bytes) const {
  return "[" + owner_ + "] out of memory: " + size_text(bytes) + " requested, " +
         size_text(live_bytes()) + " live, quota " + size_text(bytes_);
}

}  // namespace heddle::device
