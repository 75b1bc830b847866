#include "engine/model_clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "engine/device/sim_link.h"
#include "engine/model_graph.h"

namespace heddle::detail {
namespace {

using device::ComputeSpeed;
using device::LinkEnds;
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

/// One of its copies that an operation makes one after the other, or all that it does.
struct Step {
  double flops = 0;
  CopyCost moved = {};  ///< within one memory if it is no copy
};

/// Its ends are equal for what is no copy.
LinkEnds link_of(const Step& step, Gpus gpus) {
  return device::link_between(gpus, place_of(step.moved.from, gpus), place_of(step.moved.to, gpus));
}

double nanoseconds_for(double amount, double per_second) {
  return per_second > 0 ? std::max(0.0, amount) / per_second * 1e9 : 0;
}

/// `time` later, or the end of all time if that is earlier. Neither is less than 0.
std::int64_t later(std::int64_t moment, std::int64_t time) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  return time < kEnd - moment ? moment + time : kEnd;
}

/// In whole nanoseconds; what takes longer than 146 years counts as that.
std::int64_t rounded(double nanoseconds) {
  constexpr double kMost = 0x1p62;
  return std::llround(std::min(nanoseconds, kMost));
}

std::size_t count_steps(const ModelCost& cost) {
  return cost.copies.empty() ? 1 : cost.copies.size();
}

Step step_of(const ModelCost& cost, std::size_t index) {
  if (cost.copies.empty()) return {.flops = cost.flops, .moved = {.bytes = cost.bytes}};
  return {.moved = cost.copies[index]};
}

std::int64_t step_cost(const Step& step, Device device, Gpus gpus) {
  const auto bytes = static_cast<double>(step.moved.bytes);
  if (step.flops <= 0 && step.moved.bytes == 0) return 0;
  const LinkEnds link = link_of(step, gpus);
  if (link.first != link.second) {
    const LinkSpeed speed = device::link_speed(gpus, link.first, link.second);
    return later(speed.latency.count(), rounded(nanoseconds_for(bytes, speed.bytes_per_second)));
  }
  const ComputeSpeed speed = compute_speed(place_of(device, gpus), gpus);
  return later(speed.launch.count(),
               rounded(std::max(nanoseconds_for(step.flops, speed.flops_per_second),
                                nanoseconds_for(bytes, speed.bytes_per_second))));
}

/// Invariant: once what the thread of an operation had waited for has ended, it is pushed: from
/// then on all that it waits for and that has not begun is at least as urgent.
class Schedule {
 public:
  Schedule(std::span<const ModelOp> ops, std::span<const ModelWait> waits, Gpus gpus)
      : ops_(ops), gpus_(gpus), graph_(ops, waits), nodes_(graph_.size()) {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (const std::size_t next : graph_.successors(node)) ++nodes_[next].blockers;
      if (node >= ops.size()) continue;
      nodes_[node].cost = model_cost(ops[node], gpus);
      nodes_[node].priority = ops[node].cost.priority;
    }
  }

  std::vector<ModelTime> run() {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (is_operation(node) && graph_.gate(node) == ModelGraph::kNone) lend_priority(node);
      if (nodes_[node].blockers == 0) take(node, 0);
    }
    start_queued(0);
    while (!events_.empty()) {
      const std::int64_t now = events_.top().first;
      while (!events_.empty() && events_.top().first == now) next_event();
      start_queued(now);
    }
    std::vector<ModelTime> times;
    times.reserve(ops_.size());
    for (std::size_t node = 0; node < ops_.size(); ++node) times.push_back(nodes_[node].time);
    return times;
  }

 private:
  struct Node {
    std::size_t blockers = 0;  ///< that have not ended, once for each reason
    std::int64_t cost = 0;     ///< a wait has none
    int priority = 0;          ///< its own or what is lent to it
    std::size_t steps = 0;     ///< that have begun, of one with a lane
    enum class Phase : std::uint8_t { kWaiting, kReady, kBegun } phase = Phase::kWaiting;
    ModelTime time;
  };
  using Event = std::pair<std::int64_t, std::size_t>;
  using QueueName = std::pair<std::size_t, Lane>;
  /// -priority and node, which is by sequence.
  using Place = std::pair<std::int64_t, std::size_t>;

  struct Queue {
    std::set<Place> ready;
    bool is_busy = false;
  };

  bool is_operation(std::size_t node) const { return node < ops_.size(); }

  bool has_lane(std::size_t node) const {
    if (nodes_[node].cost == 0) return false;
    return ops_[node].lane != Lane::kCompute || place_of(ops_[node].device, gpus_) != gpus_.size();
  }

  Queue& queue_of(std::size_t node) {
    return queues_[{place_of(ops_[node].device, gpus_), ops_[node].lane}];
  }

  Place place_in_queue(std::size_t node) const {
    return {-std::int64_t{nodes_[node].priority}, node};
  }

  void begin(std::size_t node, std::int64_t now) {
    Node& begun = nodes_[node];
    begun.phase = Node::Phase::kBegun;
    begun.time.start = now;
    begun.time.chain = later(begun.time.chain, begun.cost);
    if (has_lane(node)) {
      begin_step(node, now);
    } else {
      events_.emplace(later(now, begun.cost), node);
    }
  }

  void begin_step(std::size_t node, std::int64_t now) {
    const ModelOp& op = ops_[node];
    const Step step = step_of(op.cost, nodes_[node].steps);
    const LinkEnds link = link_of(step, gpus_);
    const bool takes_link = link.first != link.second;
    const std::int64_t start = takes_link ? std::max(now, link_free_at_[link]) : now;
    const std::int64_t end = later(start, step_cost(step, op.device, gpus_));
    if (takes_link) link_free_at_[link] = end;
    if (nodes_[node].steps++ == 0) nodes_[node].time.start = start;
    events_.emplace(end, node);
  }

  /// `node` has become ready.
  void take(std::size_t node, std::int64_t now) {
    if (!has_lane(node)) return begin(node, now);
    nodes_[node].phase = Node::Phase::kReady;
    queue_of(node).ready.insert(place_in_queue(node));
  }

  /// `node` is pushed.
  void lend_priority(std::size_t node) {
    if (ops_[node].cost.is_deletion) return;
    const int priority = nodes_[node].priority;
    std::vector<std::size_t> blocked = {node};
    while (!blocked.empty()) {
      const std::size_t waiting = blocked.back();
      blocked.pop_back();
      for (const std::size_t before : graph_.conflicts(waiting)) {
        const Node& earlier = nodes_[before];
        if (earlier.phase == Node::Phase::kBegun || earlier.priority >= priority) continue;
        raise(before, priority);
        blocked.push_back(before);
      }
    }
  }

  void raise(std::size_t node, int priority) {
    const Place before = place_in_queue(node);
    nodes_[node].priority = priority;
    if (nodes_[node].phase != Node::Phase::kReady) return;
    std::set<Place>& ready = queue_of(node).ready;
    ready.erase(before);
    ready.insert(place_in_queue(node));
  }

  /// The next step of an operation has ended, or all of it.
  void next_event() {
    const auto [now, node] = events_.top();
    events_.pop();
    if (has_lane(node)) {
      if (nodes_[node].steps < count_steps(ops_[node].cost)) return begin_step(node, now);
      queue_of(node).is_busy = false;
    }
    nodes_[node].time.end = now;
    for (const std::size_t next : graph_.successors(node)) {
      Node& waiting = nodes_[next];
      waiting.time.chain = std::max(waiting.time.chain, nodes_[node].time.chain);
      if (!is_operation(node) && is_operation(next)) lend_priority(next);
      if (--waiting.blockers == 0) take(next, now);
    }
  }

  void start_queued(std::int64_t now) {
    for (auto& [name, queue] : queues_) {
      if (queue.is_busy || queue.ready.empty()) continue;
      const std::size_t node = queue.ready.extract(queue.ready.begin()).value().second;
      queue.is_busy = true;
      begin(node, now);
    }
  }

  const std::span<const ModelOp> ops_;
  const Gpus gpus_;
  const ModelGraph graph_;
  std::vector<Node> nodes_;
  std::map<QueueName, Queue> queues_;
  std::map<LinkEnds, std::int64_t> link_free_at_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

std::int64_t model_cost(const ModelOp& op, std::span<const LogicalGpu> gpus) {
  std::int64_t cost = 0;
  for (std::size_t i = 0; i < count_steps(op.cost); ++i) {
    cost = later(cost, step_cost(step_of(op.cost, i), op.device, gpus));
  }
  return cost;
}

std::vector<ModelTime> model_times(std::span<const ModelOp> ops, std::vector<ModelWait> waits,
                                   std::span<const LogicalGpu> gpus) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const ModelWait& a, const ModelWait& b) { return a.after < b.after; });
  return Schedule(ops, waits, gpus).run();
}

}  // namespace heddle::detail
