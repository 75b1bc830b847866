#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "engine/ready_node.h"

namespace heddle::detail {

class WorkerPool;

/// What a worker has made ready that has come back to its pool by way of a stream, to be run next:
/// as long as it lives, and until end(), it takes the first nodes that its thread puts there.
///
/// Thread safety: its thread's own, which has one at a time, and runs nothing of the user's until
/// end() or give_back(), as that might wait for what it has.
class KeptNodes {
 public:
  explicit KeptNodes(WorkerPool& pool) : pool_(pool) { t_current = this; }
  ~KeptNodes() { t_current = nullptr; }
  KeptNodes(const KeptNodes&) = delete;
  KeptNodes& operator=(const KeptNodes&) = delete;

  /// Makes `kept` that of the calling thread and returns the one that was, where tests let several
  /// threads of control share one of the system.
  static KeptNodes* exchange_current(KeptNodes* kept) { return std::exchange(t_current, kept); }
  /// True if the calling thread has one for `pool`, and that has taken `node`.
  static bool take(const WorkerPool& pool, ReadyNode& node) {
    KeptNodes* const kept = t_current;
    if (kept == nullptr || &kept->pool_ != &pool || kept->count_ == kMost) return false;
    kept->nodes_.at(kept->count_++) = &node;
    return true;
  }
  /// The calling thread is going to run something: if it has one, that takes no more, and what it
  /// has goes to the pool.
  static void give_back() {
    if (t_current != nullptr) t_current->put_all();
  }
  /// What it has, in the order in which that came. It takes no more.
  std::span<ReadyNode* const> end() {
    t_current = nullptr;
    return {nodes_.data(), count_};
  }

 private:
  static constexpr std::size_t kMost = 4;

  void put_all();

  static inline constinit thread_local KeptNodes* t_current = nullptr;

  WorkerPool& pool_;
  std::array<ReadyNode*, kMost> nodes_{};
  std::size_t count_ = 0;
};

}  // namespace heddle::detail
