#pragma once

#include <cstdint>

#include "engine/base/sync.h"

namespace heddle::detail {

/// Lets one thread do what several ask for: who asks while another is at it leaves it to that one,
/// which does it once more. If they do not stop asking it makes room for the next one of them.
///
/// Thread safety: every member may be called from any thread.
class AskedOnce {
 public:
  /// Calls `look`, and `between` before each further `look`.
  template <class Look, class Between>
  void ask(Look&& look, Between&& between) {
    if (asked_.fetch_add(1) != 0) return;
    std::uint32_t seen = 1;
    for (int i = 0; i < kMost; ++i) {
      look();
      if (asked_.compare_exchange_strong(seen, 0)) return;
      between();
    }
    asked_.exchange(0);
    look();  // for those who have asked before that
  }

 private:
  static constexpr int kMost = 32;

  base::Atomic<std::uint32_t> asked_{0};  ///< since the first of them has begun
};

}  // namespace heddle::detail
