#pragma once

#include <memory>

#include "overlap/programs.h"
#include "overlap/script.h"

namespace bench::overlap {

/// Data-parallel training of two fully connected layers on gpu(0) and gpu(1) through a "device"
/// store, all devices in step.
///
/// With one slice its steps are a chain: a step begins with the first layer's weight, whose
/// gradient is the last thing that the step before computes, and whose way through the store
/// nothing can hide. With more slices, which divide the hidden units, the network is the same, and
/// so is its arithmetic but for the order of sums; but while the last slices are on their way the
/// first ones compute already.
std::unique_ptr<Script> make_network(const Sizes& sizes, Waits waits, int slices);

}  // namespace bench::overlap
