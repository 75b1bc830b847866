#pragma once

#include "heddle/options.h"

namespace heddle {

/// What the default engine and the device table are made from: configure() before environment
/// before defaults. Settles it: configure() throws from now on. Throws std::invalid_argument for
/// an environment variable that does not parse.
RuntimeOptions resolved_runtime_options();

/// Has the default engine, if there is one at exit, end what is in flight then, before anything
/// runs that std::atexit was given earlier. Once more after something else that the work in flight
/// needs has been started.
void drain_at_exit();

/// Throws std::invalid_argument, naming field, value and range, for a value out of range.
void check_engine_options(const EngineOptions& options);

}  // namespace heddle
