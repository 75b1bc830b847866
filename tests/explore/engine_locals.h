#pragma once

#include "engine/kept_nodes.h"
#include "engine/operation_scope.h"
#include "tests/explore/scheduler.h"

namespace heddle::explore {

/// Has each thread of the scheduler's programs keep for itself what the engine keeps per thread.
inline void keep_engine_locals(Scheduler& scheduler) {
  scheduler.keep_local([](void* next) -> void* {
    return detail::OperationScope::exchange_current(static_cast<detail::OperationScope*>(next));
  });
  scheduler.keep_local([](void* next) -> void* {
    return detail::KeptNodes::exchange_current(static_cast<detail::KeptNodes*>(next));
  });
}

}  // namespace heddle::explore
