#pragma once

#include <memory>

#include "overlap/by_hand/machine.h"
#include "overlap/script.h"

namespace bench::overlap::by_hand {

/// What bench::overlap::make_network() does, with streams and events: each GPU updates one half of
/// each weight with the gradients of both, and gets the other half from the other one.
std::unique_ptr<Script> make_network(const Sizes& sizes, Machine& machine, int slices);

}  // namespace bench::overlap::by_hand
