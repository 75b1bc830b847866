#pragma once

#include <string>
#include <vector>

#include "tests/support/program_run.h"
#include "tests/support/random_program.h"

namespace heddle::support {

/// Replays `program` serially in the order of the sequence numbers that `history` reports and
/// compares: values bit for bit, versions, who ran, who is poisoned by which root, which errors
/// the waits threw. Returns the differences, a few; empty means that the run was right.
std::vector<std::string> check_history(const Program& program, const History& history);

}  // namespace heddle::support
