#pragma once

#include <cstdint>

#include "heddle/engine.h"

namespace heddle::support {

/// The number of the operation that poisons `var`, once all that was pushed to it has ended; 0 if
/// none does.
inline std::uint64_t root_of(Engine& engine, const Var& var) {
  try {
    engine.wait_for_var(var);
  } catch (const OpError& error) {
    return error.sequence();
  }
  return 0;
}

}  // namespace heddle::support
