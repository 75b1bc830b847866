#pragma once

#include <array>
#include <cstddef>

#include "heddle/trace.h"

namespace heddle::support {

/// All there are.
inline constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm,
                                      Lane::kBlocking};

/// Of number `i` of those that go through all lanes in turn.
inline Lane lane_of(int i) { return kLanes[static_cast<std::size_t>(i) % kLanes.size()]; }

}  // namespace heddle::support
