#include "engine/idle_workers.h"

#include "engine/pool_thread.h"

namespace heddle::detail {

Worker* IdleWorkers::recall() {
  if (!may_recall_) return nullptr;
  for (Worker* const worker : coming_) {
    if (!worker->self->sleep_on()) continue;
    arrive(*worker);
    return worker;
  }
  return nullptr;
}

}  // namespace heddle::detail
