#pragma once

#include "questions/lineup.h"

namespace bench::engine {

/// Runs the program called `name` on heddle with one worker per lane such that callgrind can count
/// what a push and an end take (see count_instructions.sh): twice, as the first run fills the
/// pools, with all pushes before the workers start, and calls of bench_mark_...() around both parts
/// of the second. Then the same of a recording. Throws std::invalid_argument if there is no such
/// program.
void run_for_counting(const std::string& name, const Options& options);

}  // namespace bench::engine
