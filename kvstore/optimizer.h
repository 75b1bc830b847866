#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/kvstore.h"
#include "heddle/ndarray.h"

#include "kvstore/spares.h"

namespace heddle::kvstore {

/// Throws std::invalid_argument if a number of the optimizer is out of its range.
void check_optimizer(const Optimizer& optimizer);

/// The arrays that the optimizer keeps beside a weight, zeros on the weight's device.
std::vector<NDArray> make_state(const Optimizer& optimizer, const NDArray& weight);

/// Updates of a weight so far, those of recordings that run among them.
using UpdateCounter = std::shared_ptr<std::atomic<std::uint64_t>>;

/// Pushes one operation that updates `weight` and `state` from the sum of the gradients, on the
/// weight's device: bit for bit what the sum followed by the optimizer's operator gives, in one
/// pass over the memory. It leaves the new weight in `copies`, too, of which there are none if the
/// device runs no CPU kernels, and counts itself in `steps`, when it is pushed or run from a
/// recording.
void push_update(const Optimizer& optimizer, UpdateCounter steps, std::vector<NDArray> gradients,
                 const NDArray& weight, const std::vector<NDArray>& state,
                 std::vector<SpareRange> copies, int priority);

}  // namespace heddle::kvstore
