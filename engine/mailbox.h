#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "engine/operation.h"

namespace heddle::detail {

/// Operations that one worker has ended and the Ledger has not yet taken note of.
///
/// Thread safety: post() and full() belong to the worker, take_all() to who holds the Ledger's
/// lock.
///
/// Invariants:
///  - places_[i % kSize] holds an operation for every i from taken_ to posted_ - 1, at most kSize.
///  - post() and take_all() both modify posted_, acquiring and releasing: what was written before a
///    take_all() that missed an operation is seen by who has posted it.
class alignas(64) Mailbox {
 public:
  static constexpr std::size_t kSize = 128;

  bool full() const {
    return posted_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_acquire) ==
           kSize;
  }
  void post(Operation& op) {
    places_[posted_.load(std::memory_order_relaxed) % kSize] = &op;
    posted_.fetch_add(1, std::memory_order_acq_rel);
  }

  /// Calls `take` for each operation, oldest first.
  template <class Take>
  void take_all(Take&& take) {
    const std::size_t end = posted_.fetch_add(0, std::memory_order_acq_rel);
    const std::size_t begin = taken_.load(std::memory_order_relaxed);
    if (begin == end) return;
    for (std::size_t i = begin; i != end; ++i) fetch(*places_[i % kSize]);
    for (std::size_t i = begin; i != end; ++i) take(*places_[i % kSize]);
    taken_.store(end, std::memory_order_release);
  }

 private:
  /// The worker had it last.
  static void fetch(Operation& op) {
    const auto* line = reinterpret_cast<const char*>(&op);
    for (std::size_t i = 128; i < 320; i += 64) __builtin_prefetch(line + i, 1);
  }

  std::atomic<std::size_t> posted_{0};
  std::array<Operation*, kSize> places_{};
  alignas(64) std::atomic<std::size_t> taken_{0};
};

}  // namespace heddle::detail
