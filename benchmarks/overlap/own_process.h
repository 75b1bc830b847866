#pragma once

#include <functional>
#include <vector>

#include "results.h"

namespace bench::overlap {

/// Calls `measure` in a process of its own, as GPUs of two kinds do not mix in one, and returns its
/// rows. Called before this process has used heddle. Throws std::runtime_error if that process
/// fails, which has said why on standard error.
std::vector<Row> rows_of_own_process(const std::function<std::vector<Row>()>& measure);

}  // namespace bench::overlap
