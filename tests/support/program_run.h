#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/engine.h"

#include "tests/support/random_program.h"

namespace heddle::support {

/// What one operation of a program saw. Zero sequence: it was not pushed.
struct Observed {
  std::uint64_t sequence = 0;  ///< as push returned it
  std::uint64_t context_sequence = 0;
  int runs = 0;
  std::uint64_t left_at = 0;  ///< when it had read and written, as History counts
  bool refused = false;       ///< push threw std::invalid_argument: a variable was deleted
  /// Engine::version of distinct_reads(), then of distinct_mutates(), while it ran.
  std::vector<std::uint64_t> versions;
};

/// A delete_variable or clear_error. Its sequence number is not returned: it is the only one
/// missing between the numbers of two markers, operations without variables, pushed around it.
struct Unnumbered {
  Step::Kind kind;
  std::uint16_t variable;
  std::uint64_t before;
  std::uint64_t after;
  bool refused;  ///< std::invalid_argument: the variable was deleted before
};

/// A group that is being cancelled.
struct CancelledGroup {
  int group;
  std::size_t waits;  ///< how many of History::waits had returned by then
};

/// A wait and what came of it.
struct Waited {
  Step::Kind kind;
  std::uint16_t variable;
  std::uint64_t after;  ///< the last sequence number that its thread knew
  std::size_t thread;
  std::size_t step;                    ///< of that thread; past the last for the one at the end
  std::vector<std::uint64_t> roots{};  ///< thrown: one for a variable, or any number for all
  bool refused = false;
  std::uint64_t returned_at = 0;           ///< as History counts
  std::optional<std::uint64_t> version{};  ///< of the variable then, unless it was deleted
  std::optional<std::uint64_t> value{};  ///< of the variable, if nothing was thrown and it is safe
};

struct Final {
  std::uint64_t value = 0;
  std::uint64_t version = 0;
  std::uint64_t root = 0;  ///< poison, or 0
  bool deleted = false;
  int last_runs = 0;  ///< calls of the callable given to delete_variable
  std::uint64_t value_at_last = 0;

  friend bool operator==(const Final&, const Final&) = default;
};

/// Everything that can be observed of one run of a program. Times are counted from 1 on: of two
/// events one of which must happen before the other the first has the smaller one.
struct History {
  std::vector<Observed> operations;  ///< as Program::operations
  std::vector<std::uint64_t> markers;
  std::vector<Unnumbered> unnumbered;
  std::vector<CancelledGroup> cancels;
  std::vector<Waited> waits;  ///< of one thread in its order; the last is a wait_for_all
  std::vector<Final> variables;
  std::vector<std::string> violations;  ///< what went wrong while it ran, a few
};

/// Runs `program` on an engine of its own and waits for it.
History run_program(const Program& program, const EngineOptions& options);

}  // namespace heddle::support
