#include "engine/model_graph.h"

#include <utility>

namespace heddle::detail {

ModelGraph::ModelGraph(std::span<const ModelOp> ops, std::span<const ModelWait> waits)
    : successors_(ops.size() + waits.size()), conflicts_(ops.size()), gates_(ops.size(), kNone) {
  Building building;
  std::size_t next_wait = 0;
  const auto add_waits_until = [&](std::uint64_t sequence) {
    for (; next_wait < waits.size() && waits[next_wait].after < sequence; ++next_wait) {
      add_wait(ops.size() + next_wait, waits[next_wait], building);
    }
  };
  for (std::size_t node = 0; node < ops.size(); ++node) {
    add_waits_until(ops[node].sequence);
    add_operation(node, ops[node], building);
  }
  add_waits_until(UINT64_MAX);
}

void ModelGraph::add_edge(std::size_t before, std::size_t after) {
  if (before != kNone) successors_[before].push_back(after);
}

void ModelGraph::add_conflict(std::size_t before, std::size_t node) {
  if (before == kNone) return;
  add_edge(before, node);
  conflicts_[node].push_back(before);
}

void ModelGraph::add_operation(std::size_t node, const ModelOp& op, Building& building) {
  for (const ModelOp::Access& access : op.accesses) {
    Variable& variable = building.variables[access.variable];
    add_conflict(variable.last_write, node);
    if (!access.write) {
      variable.reads.push_back(node);
      continue;
    }
    for (const std::size_t read : variable.reads) add_conflict(read, node);
    variable = {.last_write = node, .reads = {}};
  }
  const auto wait = building.last_wait.find(op.cost.thread);
  if (wait != building.last_wait.end()) add_edge(gates_[node] = wait->second, node);
  building.since_barrier.push_back(node);
}

void ModelGraph::add_wait(std::size_t node, const ModelWait& wait, Building& building) {
  if (wait.variable == 0) {
    for (const std::size_t before : std::exchange(building.since_barrier, {node})) {
      add_edge(before, node);
    }
  } else {
    const Variable& variable = building.variables[wait.variable];
    add_edge(variable.last_write, node);
    if (wait.reads_too) {
      for (const std::size_t read : variable.reads) add_edge(read, node);
    }
  }
  const auto [last, is_first] = building.last_wait.try_emplace(wait.thread, node);
  if (!is_first) add_edge(std::exchange(last->second, node), node);
}

}  // namespace heddle::detail
