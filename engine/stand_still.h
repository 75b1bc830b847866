#pragma once

#include <cstdint>
#include <utility>

namespace heddle::detail {

/// Whether a run of a recording stands still, as far as those see who look at it now and then.
///
/// Thread safety: guarded by its owner's lock.
class StandStill {
 public:
  enum class At : std::uint8_t {
    kElse,
    kRunning,  ///< some of its operations
    kWaiting,  ///< for its next one
  };

  /// A look, of `now`: for how long, in ns, all looks have found what this one does.
  std::int64_t look(At at, std::uint64_t ended, std::int64_t now) {
    const Look look{at, ended};
    if (std::exchange(last_, look) != look || at == At::kElse) since_ = now;
    return now - since_;
  }

 private:
  struct Look {
    At at = At::kElse;
    std::uint64_t ended = 0;
    bool operator==(const Look&) const = default;
  };

  Look last_;
  std::int64_t since_ = 0;
};

}  // namespace heddle::detail
