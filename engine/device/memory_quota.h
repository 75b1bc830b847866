#pragma once

#include <cstddef>
#include <string>

#include "engine/base/sync.h"

namespace heddle::device {

/// What a logical GPU may have of the memory of its card, which others may share: it counts, and
/// the blocks come from the card's pool.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants: live_ is what was taken and not given back, at most bytes_.
class MemoryQuota {
 public:
  /// `owner` names the device in errors.
  MemoryQuota(std::string owner, std::size_t bytes);

  /// Throws OutOfMemory, and takes nothing, if that is more than room().
  void take(std::size_t bytes);
  void give_back(std::size_t bytes) noexcept;

  std::size_t live_bytes() const { return live_.load(std::memory_order_relaxed); }
  std::size_t room() const { return bytes_ - live_bytes(); }

  /// What to say where so many bytes are not to be had.
  std::string refusal(std::size_t bytes) const;

 private:
  const std::string owner_;
  const std::size_t bytes_;
  base::Atomic<std::size_t> live_{0};
};

}  // namespace heddle::device
