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
  bool refused = false;  ///< push threw std::invalid_argument: a variable was deleted
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

/// A wait and what came of it.
struct Waited {
  Step::Kind kind;
  std::uint16_t variable;
  std::uint64_t after;               ///< the last sequence number that its thread knew
  std::vector<std::uint64_t> roots;  ///< thrown: one for a variable, any number for wait_for_all
  bool refused;
  std::optional<std::uint64_t> value;  ///< of the variable, if nothing was thrown and it is safe
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

/// Everything that can be observed of one run of a program.
struct History {
  std::vector<Observed> operations;  ///< as Program::operations
  std::vector<std::uint64_t> markers;
  std::vector<Unnumbered> unnumbered;
  std::vector<Waited> waits;  ///< of one thread in its order; the last is a wait_for_all
  std::vector<Final> variables;
  std::vector<std::string> violations;  ///< what went wrong while it ran, a few
};

/// Runs `program` on an engine of its own and waits for it.
History run_program(const Program& program, const EngineOptions& options);

}  // namespace heddle::support
