#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "engine/graph_run.h"
#include "engine/operation.h"

// What goes through the items and uses of a GraphRun.

namespace heddle::detail {

template <class Moved>
void GraphRun::raise_items(Moved&& moved) {
  const std::lock_guard lock(lock_);
  bool outranks = outranks_queued();
  for (GraphItem& item : items_) {
    if (!item.is_queued()) continue;
    const int before = item.priority();
    int priority = std::max(before, priority_.of(item.op));
    // Who takes it up begins with what goes first.
    if (std::exchange(outranks, false)) priority = std::max(priority, priority_.of(ready_.first()));
    item.set_priority(priority);
    if (priority != before) moved(item, before);
  }
}

template <class Visit>
std::uint32_t GraphRun::visit_needed(std::uint32_t number, Visit&& visit) {
  const std::lock_guard lock(lock_);
  if (!holds_program_) return ReadyOps::kNone;
  std::uint32_t last = graph_.uses[number].last;
  for (std::uint32_t i = 0; i < uses_.size() && graph_.starts[i].front() <= last; ++i) {
    last = std::max(last, graph_.uses[i].last);
    Operation* const op = uses_[i];  // something else, since it has ended
    if (op == nullptr || op->phase.load(std::memory_order_relaxed) == Operation::Phase::kUnused ||
        op->kind() != Submission::Kind::kUse || op->use.run != this) {
      continue;
    }
    visit(*op);
  }
  return last;
}

template <class Visit>
void GraphRun::visit_running(Visit&& visit) {
  const std::lock_guard lock(lock_);
  for (const GraphItem& item : items_) {
    if (item.is_running && item.op != GraphItem::kNone) visit(item.at());
  }
}

}  // namespace heddle::detail
