#pragma once

#include <string>

#include "heddle/options.h"

#include "tests/support/program_text.h"
#include "tests/support/random_program.h"

namespace heddle::support {

/// Generates and runs a program and compares it with its serial replay. Returns "", or what went
/// wrong with everything that is needed to run it again and, if it fails again, a program as small
/// as could be found in a minute that fails, too: for tests/engine/programs. Grants the watchdog
/// another interval.
std::string check_program(const ProgramShape& shape, const EngineOptions& options);

/// Runs a program that has failed once `runs` times. Returns "", or the first difference.
std::string check_program(const ProgramText& text, int runs);

/// As check_program, and compares with the same program on kNaive: values, versions, poison and
/// the outcome of every wait. One thread, no children, no GPUs.
std::string check_program_against_naive(const ProgramShape& shape, const EngineOptions& options);

/// The features of the `index`-th program of a test: every combination comes up.
void vary(ProgramShape& shape, EngineOptions& options, std::uint64_t index);

}  // namespace heddle::support
