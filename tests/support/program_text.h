#pragma once

#include <string>
#include <string_view>

#include "heddle/options.h"

#include "tests/support/random_program.h"

namespace heddle::support {

/// A program and the engine that it is for.
struct ProgramText {
  Program program;
  EngineOptions options;
};

/// One thing a line:
///
///     # what a reader should know
///     engine threaded workers 2 max_pending 65536 seed 0
///     variables 3
///     operation reads 0 0 mutates 1 device gpu(0) lane copy_in priority -1 ending throw group 0
///     operation overwrites mutates 2 try child 0
///     thread
///     push 1
///     cancel 0
///     wait_for_var 2
///
/// Operations and threads count from 0; what is not said of one is as in RandomOperation{}. The
/// steps are named as Step::Kind; they belong to the last "thread".
std::string to_text(const Program& program, const EngineOptions& options);

/// The reverse. Throws std::invalid_argument if a line does not parse, which it names, or names
/// what there is not, or if an operation is pushed twice.
ProgramText parse_program(std::string_view text);

}  // namespace heddle::support
