#include "engine/ready_ops.h"

namespace heddle::detail {

ReadyOps::ReadyOps(const RecordedGraph& graph, bool one_at_a_time)
    : graph_(graph),
      in_order_(one_at_a_time),
      blockers_(one_at_a_time ? graph.waits : graph.blockers),
      ready_(graph.blockers.size()) {}

std::uint32_t ReadyOps::end_out_of_order(std::uint32_t op) {
  blockers_[op] = kHasEnded;
  std::uint32_t mine = kNone;
  for (const std::uint32_t follower : graph_.followers[op]) {
    if (--blockers_[follower] != 0) continue;
    if (mine == kNone) {  // mostly the only one
      mine = follower;
    } else {
      ready_.insert(follower);
    }
  }
  return mine;
}

void ReadyOps::leave_order() {
  in_order_ = false;
  for (std::size_t op = next_; op < blockers_.size(); ++op) {
    blockers_[op] += graph_.blockers[op] - graph_.waits[op];
  }
  for (std::uint32_t op = 0; op < next_; ++op) {
    blockers_[op] = kHasEnded;
    for (const std::uint32_t follower : graph_.followers[op]) {
      if (follower >= next_) --blockers_[follower];
    }
  }
  for (std::size_t op = next_ + (is_taken_ ? 1 : 0); op < blockers_.size(); ++op) {
    if (blockers_[op] == 0) ready_.insert(op);
  }
}

}  // namespace heddle::detail
