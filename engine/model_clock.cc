#include "engine/model_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

#include "engine/device/sim_link.h"

namespace heddle::detail {
namespace {

using device::ComputeSpeed;
using device::LinkSpeed;
using device::LogicalGpu;
using Gpus = std::span<const LogicalGpu>;

constexpr ComputeSpeed kHostCore{50e9, 10e9, std::chrono::nanoseconds(0)};

/// As link_speed() numbers places.
std::size_t place_of(Device device, Gpus gpus) {
  return device.is_gpu() ? static_cast<std::size_t>(device.id()) : gpus.size();
}

ComputeSpeed compute_speed(std::size_t place, Gpus gpus) {
  if (place == gpus.size()) return kHostCore;
  const auto* const sim = std::get_if<device::SimSpec>(&gpus[place]);
  return sim != nullptr ? sim->compute : ComputeSpeed{};
}

/// The places that a copy joins: from, to. Equal ones for what is no copy.
using Link = std::pair<std::size_t, std::size_t>;

Link link_of(const ModelOp& op, Gpus gpus) {
  return {place_of(op.cost.from, gpus), place_of(op.cost.to, gpus)};
}

double nanoseconds_for(double amount, double per_second) {
  return per_second > 0 ? std::max(0.0, amount) / per_second * 1e9 : 0;
}

/// Who must end before whom: operations and, behind them, the waits of threads.
class Graph {
 public:
  Graph(std::span<const ModelOp> ops, std::span<const ModelWait> waits)
      : ops_(ops),
        waits_(waits),
        successors_(ops.size() + waits.size()),
        blockers_(ops.size() + waits.size()) {
    std::size_t next_wait = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      while (next_wait < waits.size() && waits[next_wait].after < ops[i].sequence) {
        add_wait(next_wait++);
      }
      add_operation(i);
    }
    while (next_wait < waits.size()) add_wait(next_wait++);
  }

  std::size_t size() const { return blockers_.size(); }
  bool is_free(std::size_t node) const { return blockers_[node] == 0; }
  /// Calls visit(node) for each that waited for nothing else.
  template <class Visit>
  void end(std::size_t node, Visit&& visit) {
    for (const std::size_t next : successors_[node]) {
      if (--blockers_[next] == 0) visit(next);
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Variable {
    std::size_t last_write = kNone;
    std::vector<std::size_t> reads;  ///< since then
  };

  void add_edge(std::size_t before, std::size_t after) {
    if (before == kNone) return;
    successors_[before].push_back(after);
    ++blockers_[after];
  }

  void add_operation(std::size_t node) {
    for (const ModelOp::Access& access : ops_[node].accesses) {
      Variable& variable = variables_[access.variable];
      add_edge(variable.last_write, node);
      if (!access.write) {
        variable.reads.push_back(node);
        continue;
      }
      for (const std::size_t read : variable.reads) add_edge(read, node);
      variable = {.last_write = node, .reads = {}};
    }
    const auto gate = gates_.find(ops_[node].cost.thread);
    if (gate != gates_.end()) add_edge(gate->second, node);
    since_barrier_.push_back(node);
  }

  void add_wait(std::size_t index) {
    const ModelWait& wait = waits_[index];
    const std::size_t node = ops_.size() + index;
    if (wait.variable == 0) {
      for (const std::size_t before : std::exchange(since_barrier_, {})) add_edge(before, node);
      since_barrier_.push_back(node);
    } else {
      const Variable& variable = variables_[wait.variable];
      add_edge(variable.last_write, node);
      if (wait.reads_too) {
        for (const std::size_t read : variable.reads) add_edge(read, node);
      }
    }
    const auto [gate, is_first] = gates_.try_emplace(wait.thread, node);
    if (!is_first) add_edge(std::exchange(gate->second, node), node);
  }

  const std::span<const ModelOp> ops_;
  const std::span<const ModelWait> waits_;
  std::vector<std::vector<std::size_t>> successors_;
  std::vector<std::size_t> blockers_;

  // While it is built.
  std::unordered_map<std::uint64_t, Variable> variables_;
  std::unordered_map<std::uint32_t, std::size_t> gates_;  ///< the last wait of each thread
  std::vector<std::size_t> since_barrier_;  ///< since the last wait for everything, with it
};

class Schedule {
 public:
  Schedule(std::span<const ModelOp> ops, std::span<const ModelWait> waits, Gpus gpus)
      : ops_(ops), gpus_(gpus), graph_(ops, waits), costs_(graph_.size()), times_(graph_.size()) {
    for (std::size_t node = 0; node < ops.size(); ++node)
      costs_[node] = model_cost(ops[node], gpus);
  }

  std::vector<ModelTime> run() {
    for (std::size_t node = 0; node < graph_.size(); ++node) {
      if (graph_.is_free(node)) take(node, 0);
    }
    start_queued(0);
    while (!ends_.empty()) {
      const std::int64_t now = ends_.top().first;
      while (!ends_.empty() && ends_.top().first == now) end_next();
      start_queued(now);
    }
    times_.resize(ops_.size());
    return std::move(times_);
  }

 private:
  using Event = std::pair<std::int64_t, std::size_t>;
  using QueueName = std::pair<std::size_t, Lane>;

  struct Queue {
    /// By -priority, then by node, which is by sequence.
    std::set<std::pair<std::int64_t, std::size_t>> ready;
    bool is_busy = false;
  };

  bool has_lane(std::size_t node) const {
    if (costs_[node] == 0) return false;
    return ops_[node].lane != Lane::kCompute || place_of(ops_[node].device, gpus_) != gpus_.size();
  }

  QueueName queue_of(std::size_t node) const {
    return {place_of(ops_[node].device, gpus_), ops_[node].lane};
  }

  void begin(std::size_t node, std::int64_t start) {
    times_[node] = {start, start + costs_[node]};
    ends_.emplace(times_[node].end, node);
  }

  /// `node` has become ready.
  void take(std::size_t node, std::int64_t now) {
    if (!has_lane(node)) return begin(node, now);
    queues_[queue_of(node)].ready.emplace(-std::int64_t{ops_[node].priority}, node);
  }

  void end_next() {
    const auto [now, node] = ends_.top();
    ends_.pop();
    if (has_lane(node)) queues_[queue_of(node)].is_busy = false;
    graph_.end(node, [this, now = now](std::size_t next) { take(next, now); });
  }

  void start_queued(std::int64_t now) {
    for (auto& [name, queue] : queues_) {
      if (queue.is_busy || queue.ready.empty()) continue;
      const std::size_t node = queue.ready.extract(queue.ready.begin()).value().second;
      queue.is_busy = true;
      const Link link = link_of(ops_[node], gpus_);
      if (link.first == link.second) {
        begin(node, now);
        continue;
      }
      std::int64_t& free_at = link_free_at_[link];
      begin(node, std::max(now, free_at));
      free_at = times_[node].end;
    }
  }

  const std::span<const ModelOp> ops_;
  const Gpus gpus_;
  Graph graph_;
  std::vector<std::int64_t> costs_;  ///< by node; a wait has none
  std::vector<ModelTime> times_;
  std::map<QueueName, Queue> queues_;
  std::map<Link, std::int64_t> link_free_at_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> ends_;
};

}  // namespace

std::int64_t model_cost(const ModelOp& op, std::span<const LogicalGpu> gpus) {
  const auto bytes = static_cast<double>(op.cost.bytes);
  if (op.cost.flops <= 0 && op.cost.bytes == 0) return 0;
  const Link link = link_of(op, gpus);
  if (link.first != link.second) {
    const LinkSpeed speed = device::link_speed(gpus, link.first, link.second);
    return speed.latency.count() + std::llround(nanoseconds_for(bytes, speed.bytes_per_second));
  }
  const ComputeSpeed speed = compute_speed(place_of(op.device, gpus), gpus);
  return speed.launch.count() +
         std::llround(std::max(nanoseconds_for(op.cost.flops, speed.flops_per_second),
                               nanoseconds_for(bytes, speed.bytes_per_second)));
}

std::vector<ModelTime> model_times(std::span<const ModelOp> ops, std::vector<ModelWait> waits,
                                   std::span<const LogicalGpu> gpus) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const ModelWait& a, const ModelWait& b) { return a.after < b.after; });
  return Schedule(ops, waits, gpus).run();
}

}  // namespace heddle::detail
