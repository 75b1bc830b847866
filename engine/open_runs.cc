#include "engine/open_runs.h"

#include <algorithm>

#include "engine/trace_log.h"

namespace heddle::detail {

void OpenRuns::add(GraphRun& run) {
  runs_.push_back(&run);
  count_.store(runs_.size(), std::memory_order_relaxed);
}

void OpenRuns::remove(GraphRun& run) {
  ended_before_ += run.ended();
  std::erase(runs_, &run);
  count_.store(runs_.size(), std::memory_order_relaxed);
}

GraphItem* OpenRuns::join(const ReadyPlace& other, const GraphRun* but) const {
  for (GraphRun* const run : runs_) {
    if (run == but) continue;
    if (GraphItem* const item = run->join(other)) return item;
  }
  return nullptr;
}

bool OpenRuns::has_ready() const {
  return std::any_of(runs_.begin(), runs_.end(), [](GraphRun* run) { return run->is_ready(); });
}

bool OpenRuns::has_held_in_order() const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [](GraphRun* run) { return run->is_held_in_order(); });
}

bool OpenRuns::leave_orders(bool all) const {
  const std::int64_t now = now_ns();
  bool any = all;
  for (GraphRun* const run : runs_) {
    if (run->is_stuck(now) || all) any = run->leave_order(/*is_slow=*/true) || any;
  }
  return any;
}

std::uint64_t OpenRuns::ended() const {
  std::uint64_t ended = ended_before_;
  for (const GraphRun* const run : runs_) ended += run->ended();
  return ended;
}

}  // namespace heddle::detail
