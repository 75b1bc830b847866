#include "engine/stop.h"

#include "heddle/error.h"

namespace heddle::detail {

void throw_stopped() { throw EngineStopped("the engine was shut down"); }

void throw_abandoned() {
  throw EngineStopped("the engine was shut down before what was waited for had ended");
}

void throw_cancelled() {
  throw EngineStopped("operations were cancelled: the engine was shut down");
}

base::Clock::time_point deadline_in(std::chrono::milliseconds limit) {
  using Clock = base::Clock;
  constexpr std::chrono::hours kForEver{24 * 365};
  return limit > kForEver ? Clock::time_point::max() : Clock::now() + limit;
}

}  // namespace heddle::detail
