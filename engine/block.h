#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine_core.h"
#include "engine/many_variables.h"
#include "engine/recorded_program.h"

namespace heddle::detail {

class GraphRun;
class ThreadedEngine;

/// A run of a recording whose operations are being pushed. Lives on the stack of its pusher.
struct Block {
  const ThreadedEngine& engine;
  ProgramRun& run;
  Submission::Admission admission;
  GraphRun* graph = nullptr;   ///< then its uses are pushed instead of the operations
  std::int64_t pushed_at = 0;  ///< if traced
  /// It is to be left to workers as plain pushes; not if others would have to go before it.
  bool leaves = false;
  std::vector<std::unique_ptr<ManyVariables>> many = {};  ///< of those that need it, in their order

  bool is_admitted() const { return admission == Submission::Admission::kAdmitted; }

  // Of the ledger.
  std::size_t next = 0;       ///< how many are pushed
  std::size_t next_many = 0;  ///< of `many`
  std::uint64_t first = 0;    ///< the sequence number of the first; 0: it is not open yet
};

}  // namespace heddle::detail
