#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/ops/arrays.h"

namespace heddle::support {

/// One operator applied to one set of float32 inputs, and what plain loops over double make of the
/// same numbers.
struct SweepCase {
  std::string name;  ///< of the operator's row in the table
  std::vector<NDArray> inputs;
  std::function<std::vector<NDArray>(const std::vector<NDArray>&)> run;
  /// All results one after the other.
  std::function<Values(const std::vector<Values>&)> reference;
};

/// At least one case for every row.
std::vector<SweepCase> sweep_cases();

}  // namespace heddle::support
