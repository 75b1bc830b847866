#pragma once

#include <functional>

#include "tests/support/random_program.h"

namespace heddle::support {

/// Takes steps, threads, operations and properties of operations away from `program`, and gives
/// what is left new numbers, as long as `fails` says that it still fails. Asks it `most` times at
/// most, first for `program` itself: if that does not fail, nothing is tried.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int most);

}  // namespace heddle::support
