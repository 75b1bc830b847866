#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "engine/base/sync.h"
#include "engine/operation.h"

namespace heddle::detail {

/// As "#3 'name'", or "#3" if it has none.
void write_name(std::ostream& out, std::uint64_t sequence, std::string_view name);

/// Says of each pending operation where it runs and for how long, or for what it waits.
///
/// Thread safety: none. look() and add() read operations: the lock that guards them is held.
class StallReport {
 public:
  /// Operations that a report names; of the others it gives the number, in which a use of a run
  /// counts as one.
  static constexpr std::size_t kMost = 32;

  /// A pending operation, at each look: from the first at which it runs its time counts.
  void look(const Operation& op);
  /// Forgets what was not seen since the last call.
  void end_look();

  /// A pending operation, for text().
  void add(const Operation& op);
  /// One line each for the operations added since the last call.
  std::string text();

 private:
  using Clock = base::Clock;
  struct Seen {
    Clock::time_point first;
    bool is_current = true;
  };

  void see(std::uint64_t sequence);
  void add_time(std::uint64_t sequence);

  std::map<std::uint64_t, Seen> running_;  ///< by sequence
  std::ostringstream text_;
  std::size_t added_ = 0;
};

}  // namespace heddle::detail
