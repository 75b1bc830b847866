#pragma once

#include <span>

#include "engine/recorded_op.h"

namespace heddle::detail {

/// Gives the operations of a recording that may be captured their places: what follows each other
/// in the compute lane of a GPU is one piece, of which nothing counts as done before all of it is.
/// So a piece ends behind an operation for which one elsewhere waits, as a copy of what it has
/// computed, and begins with one that waits for something elsewhere. What would be a small piece
/// gets none. The variables are those that RecordedOp::first_variable counts.
void cut_into_pieces(std::span<RecordedOp> ops, std::span<const Var> variables);

}  // namespace heddle::detail
