#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine_core.h"
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

  // Of the ledger.
  std::size_t next = 0;     ///< how many are pushed
  std::uint64_t first = 0;  ///< the sequence number of the first
};

}  // namespace heddle::detail
