#pragma once

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "engine/stretch.h"

namespace heddle::detail {

/// Those whose arrivals a worker may run.
using Queues = std::span<const LaneQueue* const>;

/// Where a worker takes part.
struct StretchPlace {
  Stretch* stretch = nullptr;  ///< null: it does not
  std::size_t place = 0;
  bool is_near = false;  ///< there might be one soon, when pending operations have ended
  bool is_full = false;  ///< all places are taken, or nothing is left
};

/// The stretches of a Ledger, which are used again and again.
///
/// Thread safety: guarded by its owner's lock, but for current() where it is only compared to null.
class Stretches {
 public:
  /// The one that nobody has dissolved yet; null if there is none.
  Stretch* current() const { return current_.load(std::memory_order_relaxed); }
  void set_current(Stretch* stretch) { current_.store(stretch, std::memory_order_relaxed); }

  /// One that nobody uses; null without memory.
  Stretch* take() noexcept try {
    if (unused_.empty()) {
      unused_.reserve(all_.size() + 1);
      all_.push_back(std::make_unique<Stretch>());
      return all_.back().get();
    }
    Stretch* const stretch = unused_.back();
    unused_.pop_back();
    return stretch;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void give_back(Stretch& stretch) noexcept { unused_.push_back(&stretch); }

 private:
  std::vector<std::unique_ptr<Stretch>> all_;
  std::vector<Stretch*> unused_;  ///< has room for all
  base::Atomic<Stretch*> current_{nullptr};
};

}  // namespace heddle::detail
