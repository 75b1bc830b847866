#pragma once

#include <chrono>
#include <string_view>

#include "engine/base/sync.h"

namespace heddle::detail {

// What every kind of engine says and does when it is shut down. `call` is what throws.

/// For a push that came after the shutdown. Throws EngineStopped.
[[noreturn]] void throw_stopped(std::string_view call);
/// For a wait that the shutdown gave up. Throws EngineStopped.
[[noreturn]] void throw_abandoned(std::string_view call);
/// For a wait for everything, after operations were cancelled. Throws EngineStopped.
[[noreturn]] void throw_cancelled();

/// When `limit` from now is over, now if it is less than 0; time_point::max(), which means never,
/// if that is years away.
base::Clock::time_point deadline_in(std::chrono::milliseconds limit);

}  // namespace heddle::detail
