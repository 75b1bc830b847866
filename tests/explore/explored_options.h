#pragma once

#include <cstdint>

#include "heddle/options.h"

namespace heddle::explore {

/// Of an engine with one to three workers and without a watchdog.
EngineOptions explored_options(std::uint64_t seed);

}  // namespace heddle::explore
