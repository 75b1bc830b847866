#include "engine/trace_log.h"

#include <chrono>

namespace heddle::detail {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(base::Clock::now().time_since_epoch())
      .count();
}

}  // namespace heddle::detail
