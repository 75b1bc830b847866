#pragma once

#include <array>

#include "heddle/trace.h"

namespace heddle::support {

/// All there are.
inline constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kComm,
                                      Lane::kBlocking};

}  // namespace heddle::support
