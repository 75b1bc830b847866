#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results.h"

namespace bench::overlap {

struct Findings {
  std::vector<Row> rows;
  std::vector<std::string> complaints;  ///< one line each
};

/// Calls `measure` in a process of its own, as GPUs of two kinds do not mix in one, and returns
/// what it does; what it throws, and an early end, is a complaint. Called before this process has
/// used heddle.
Findings in_own_process(const std::function<Findings()>& measure);

}  // namespace bench::overlap
