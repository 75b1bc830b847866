#pragma once

#include "heddle/options.h"

namespace heddle {

/// What the default engine and the device table are made from: configure() before environment
/// before defaults. Settles it: configure() throws from now on. Throws std::invalid_argument for
/// an environment variable that does not parse.
RuntimeOptions resolved_runtime_options();

/// Throws std::invalid_argument, naming field, value and range, for a value out of range.
void check_engine_options(const EngineOptions& options);

}  // namespace heddle
