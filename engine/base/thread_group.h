#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::base {

/// Groups of threads, each with a line of its own in what all of them write to all the time.
inline constexpr std::size_t kThreadGroups = 8;

/// The group of the calling thread, below kThreadGroups.
inline std::size_t thread_group() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t group = next.fetch_add(1, std::memory_order_relaxed);
  return group % kThreadGroups;
}

/// Counts what many threads do. Thread safety: every member may be called from any thread.
class Counter {
 public:
  void add() { groups_[thread_group()].count.fetch_add(1); }
  /// Includes all that happens before the call.
  std::uint64_t sum() const {
    std::uint64_t sum = 0;
    for (const Group& group : groups_) sum += group.count.load();
    return sum;
  }
  /// While nobody adds.
  void reset() {
    for (Group& group : groups_) group.count.store(0);
  }

 private:
  struct alignas(64) Group {
    std::atomic<std::uint64_t> count{0};
  };
  std::array<Group, kThreadGroups> groups_;
};

}  // namespace heddle::base
