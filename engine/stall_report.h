#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

#include "engine/base/sync.h"
#include "engine/operation.h"

namespace heddle::detail {

/// As "#3 'name'", or "#3" if it has none.
void write_name(std::ostream& out, std::uint64_t sequence, std::string_view name);

/// Says of each pending operation where it runs and for how long, or for what it waits.
///
/// Thread safety: none. Who gives it an operation holds the lock that guards that.
class StallReport {
 public:
  /// Operations that a report names, first those that do not wait for others, and the oldest of
  /// both; of the others it gives the number, in which a use of a run counts as one.
  static constexpr std::size_t kMost = 32;

  /// A pending operation, at each look: from the first at which it runs its time counts.
  void look(const Operation& op);
  /// Forgets what was not seen since the last call.
  void end_look();

  /// A pending operation: all of them are seen twice, as which to name shows at the end only.
  void choose(const Operation& op);
  void describe(const Operation& op);
  /// The lines of those that were chosen and described since the last call.
  std::string text();

 private:
  using Clock = base::Clock;
  struct Seen {
    Clock::time_point first;
    bool is_current = true;
  };

  /// In the order in which a report names them.
  struct Place {
    bool waits_for_others;
    std::uint64_t sequence;
    auto operator<=>(const Place&) const = default;
  };

  void see(std::uint64_t sequence);
  void write(std::ostream& out, const Operation& op) const;
  void write_time(std::ostream& out, std::uint64_t sequence) const;

  std::map<std::uint64_t, Seen> running_;  ///< by sequence
  std::map<Place, std::string> chosen_;    ///< with their lines, once described
  std::size_t pending_ = 0;                ///< since the last text()
};

}  // namespace heddle::detail
