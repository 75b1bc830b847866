#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/program_run.h"
#include "tests/support/random_program.h"

namespace heddle::support {

/// What happens to a variable, by sequence numbers.
struct Timeline {
  struct Poison {
    std::uint64_t from;  ///< the number of what has changed it
    std::uint64_t root;  ///< 0: none from then on
  };
  std::vector<std::uint64_t> mutators;
  std::vector<Poison> poison;
};

/// What a serial replay has found.
struct Outcomes {
  std::vector<Timeline> variables;
  std::vector<std::size_t> cancelled;  ///< operations that were skipped for no other reason
};

/// Compares what the waits of a program gave with what they may give, whatever other threads push
/// meanwhile: when a wait returns, what it waits for has ended; for a variable it throws what
/// poisons it at some moment between the push before and the push after it in the same thread.
/// Returns the differences, a few.
std::vector<std::string> check_waits(const Program& program, const History& history,
                                     const Outcomes& outcomes);

/// The same for groups: what a thread pushes after it has cancelled one does not run, and nothing
/// is skipped that was waited for before its group was cancelled.
std::vector<std::string> check_cancels(const Program& program, const History& history,
                                       const Outcomes& outcomes);

}  // namespace heddle::support
