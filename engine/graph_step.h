#pragma once

#include "engine/lane_queue.h"

namespace heddle::detail {

/// What follows from the end of an operation of a GraphRun, for its worker.
struct GraphStep {
  ReadyList ended;          ///< uses
  bool has_more = false;    ///< the item has
  bool was_last = false;    ///< all operations have ended: let_go() of the program
  bool wants_help = false;  ///< more are ready, and a worker sleeps
  bool outranks = false;    ///< what waits in a queue: raise_runs() must be called
  bool in_order = false;    ///< what has ended is waited for by later operations only
};

}  // namespace heddle::detail
