#include "engine/stop.h"

#include <algorithm>
#include <string>

#include "heddle/error.h"

namespace heddle::detail {

void throw_stopped(std::string_view call) {
  throw EngineStopped("[" + std::string(call) + "] the engine was shut down");
}

void throw_abandoned(std::string_view call) {
  throw EngineStopped("[" + std::string(call) +
                      "] the engine was shut down before what was waited for had ended");
}

void throw_cancelled() {
  throw EngineStopped("[Engine::wait_for_all] operations were cancelled: the engine was shut down");
}

base::Clock::time_point deadline_in(std::chrono::milliseconds limit) {
  using Clock = base::Clock;
  constexpr std::chrono::hours kForEver{24 * 365};
  if (limit > kForEver) return Clock::time_point::max();
  return Clock::now() + std::max(limit, std::chrono::milliseconds(0));
}

}  // namespace heddle::detail
