#pragma once

#include <cstdint>
#include <utility>

#include "engine/base/grain.h"
#include "engine/base/sync.h"
#include "engine/trace_log.h"

namespace heddle::detail {

/// How small the operations of a pool are, as far as its workers have measured some.
///
/// Thread safety: every member may be called from any thread.
class MeasuredGrain {
 public:
  /// The last one was so small that to hand it to another core takes as long.
  bool is_tiny() const { return is_tiny_.load(std::memory_order_relaxed); }
  /// Two workers would cost more than they gain, and they come one after the other.
  bool are_fine() const { return are_fine_.load(std::memory_order_relaxed); }
  /// To find out what waits for what takes as long as they do, and they come one after the other.
  bool are_short() const { return are_short_.load(std::memory_order_relaxed); }

  /// One that has begun then has ended. Returns is_tiny().
  bool measured_one(std::int64_t begin) { return note_one(now_ns() - begin); }
  /// The same for one of kMeasureEvery of a thread, which has last called this at `measured_at`; 0:
  /// it has done something else since. Returns are_fine().
  bool measured(std::int64_t begin, std::int64_t& measured_at) {
    const std::int64_t end = now_ns();
    const std::int64_t since = std::exchange(measured_at, end);
    note_one(end - begin);
    const auto note = [&](base::Atomic<bool>& are, std::int64_t one, std::int64_t together) {
      const bool were = are.load(std::memory_order_relaxed);
      return set(are, end - begin < one && (since != 0 ? end - since < together : were));
    };
    note(are_short_, kShort, kShortTogether);
    return note(are_fine_, kFine, kFineTogether);
  }

 private:
  // In ns: of one, and of kMeasureEvery that come one after the other. Two workers of a stretch get
  // more done than one from some 100 ns on; to go from lane to lane takes longer.
  static constexpr std::int64_t kTiny = 300;
  static constexpr std::int64_t kFine = 110;
  static constexpr std::int64_t kFineTogether = 64000;
  static constexpr std::int64_t kShort = 16000;
  static constexpr std::int64_t kShortTogether = 1024000;

  static bool set(base::Atomic<bool>& is, bool value) {
    if (is.load(std::memory_order_relaxed) != value) is.store(value);
    return value;
  }
  bool note_one(std::int64_t took) { return set(is_tiny_, took < kTiny); }

  base::Atomic<bool> is_tiny_{base::kShortAtFirst};
  base::Atomic<bool> are_fine_{false};
  base::Atomic<bool> are_short_{base::kShortAtFirst};
};

}  // namespace heddle::detail
