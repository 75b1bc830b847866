#pragma once

#include <memory>

#include "overlap/by_hand/machine.h"
#include "overlap/script.h"

// The programs as an expert would schedule them, with streams and events. Each refers to the
// machine, which outlives it.

namespace bench::overlap::by_hand {

std::unique_ptr<Script> make_pipeline(const Sizes& sizes, Machine& machine);
std::unique_ptr<Script> make_halo(const Sizes& sizes, Machine& machine);

}  // namespace bench::overlap::by_hand
