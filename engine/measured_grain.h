#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/base/grain.h"
#include "engine/base/sync.h"
#include "engine/trace_log.h"

namespace heddle::detail {

/// How small the operations of a pool are, as far as its workers have measured some: fine ones take
/// some 0.1 us, tiny ones up to 0.3 us, short ones up to 16 us.
///
/// Thread safety: every member may be called from any thread.
class MeasuredGrain {
 public:
  /// They take less than 0.3 us: to hand one to another core takes as long. A single one may have
  /// taken longer: the system may have interrupted it.
  bool is_tiny() const { return doubts() <= kDoubtsOfOne; }
  /// The next one should be measured, too.
  bool is_in_doubt() const {
    const std::uint32_t doubts = this->doubts();
    return doubts != 0 && doubts <= kDoubtsOfOne;
  }
  /// They take some 0.1 us, so that two workers would cost more than they gain, and come one after
  /// the other.
  bool are_fine() const { return are_fine_.load(std::memory_order_relaxed); }
  /// They take less than 16 us, so that a Stretch is worth it, and come one after the other.
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
  /// One that takes long is made good by so many that do not, and a second one before that counts.
  static constexpr std::uint32_t kDoubtsOfOne = 4;
  static constexpr std::uint32_t kMostDoubts = kDoubtsOfOne + 1;
  static constexpr std::int64_t kFineTogether = 64000;
  static constexpr std::int64_t kShort = 16000;
  static constexpr std::int64_t kShortTogether = 1024000;

  static bool set(base::Atomic<bool>& is, bool value) {
    if (is.load(std::memory_order_relaxed) != value) is.store(value);
    return value;
  }
  bool note_one(std::int64_t took) {
    const std::uint32_t before = doubts();
    std::uint32_t now = before;
    if (took >= kTiny) {
      now = std::min(before + kDoubtsOfOne, kMostDoubts);
    } else if (before != 0) {
      now = before - 1;
    }
    if (now != before) doubts_.store(now, std::memory_order_relaxed);
    return now <= kDoubtsOfOne;
  }
  std::uint32_t doubts() const { return doubts_.load(std::memory_order_relaxed); }

  base::Atomic<std::uint32_t> doubts_{base::kShortAtFirst ? 0 : kMostDoubts};  ///< of is_tiny()
  base::Atomic<bool> are_fine_{false};
  base::Atomic<bool> are_short_{base::kShortAtFirst};
};

}  // namespace heddle::detail
