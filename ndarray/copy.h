#pragma once

#include <cstddef>
#include <optional>

#include "heddle/device.h"
#include "heddle/ndarray.h"
#include "heddle/options.h"
#include "heddle/trace.h"

namespace heddle::detail {

/// Where a copy between two devices runs.
struct CopyRoute {
  Device device;
  Lane lane;
};

/// Into a GPU: its copy-in lane. From a GPU to the host: its copy-out lane. Within one device: its
/// compute lane.
CopyRoute copy_route(Device from, Device to);

/// True for work on `bytes` of elements of `from` on `to` that is done sooner than a sleeping
/// thread wakes up, or not much later: see PushOptions::brief.
bool is_brief(Device from, Device to, std::size_t bytes);

/// What a copy of `bytes` costs on the model clock: within one memory they are read and written.
CopyCost copy_cost(Device from, Device to, std::size_t bytes);

/// Pushes the copy of all elements of `from` to `to`, which has as many of the same type; shapes
/// may differ. The result is right where the two overlap, and nothing is pushed where they are the
/// same elements. `lane` replaces the route's.
void copy(const NDArray& from, const NDArray& to, int priority = 0,
          std::optional<Lane> lane = std::nullopt);

}  // namespace heddle::detail
