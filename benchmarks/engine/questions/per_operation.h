#pragma once

#include <chrono>

#include "programs/program.h"

namespace bench::engine {

inline double per_operation(std::chrono::nanoseconds time, const Program& program) {
  return static_cast<double>(time.count()) / static_cast<double>(program.operations.size());
}

}  // namespace bench::engine
