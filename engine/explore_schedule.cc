#include "engine/explore_schedule.h"

#include <algorithm>
#include <iterator>

#include "engine/stall_report.h"
#include "engine/tracker.h"
#include "engine/var_state.h"

namespace heddle::detail {

void ExploreOperation::write_blocker(std::ostream& out) const {
  for (const auto& [var, access] : accesses) {
    if (access->granted) continue;
    auto other = std::prev(access);
    while (!access->write && !other->write) --other;  // reads wait for a write only
    const ExploreOperation& before = *other->operation;
    out << "waits for ";
    write_name(out, before.sequence, before.pushed.name);
    out << " (variable '" << var->name << "')";
    return;
  }
}

ExploreSchedule::ExploreSchedule(const EngineOptions& options)
    : many_compute_(options.cpu_workers > 1), random_(options.seed), credit_(Tracker::kMaxCredit) {}

/// SplitMix64: the same numbers on every platform.
std::uint64_t ExploreSchedule::draw() {
  std::uint64_t x = random_ += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

ExploreLane* ExploreSchedule::find_lane(const PlainOperation& operation) {
  const bool is_free = operation.kind == Submission::Kind::kDelete;
  const bool has_callable = operation.task || operation.async_task;
  if (!has_callable || (is_free && operation.options.brief)) return nullptr;
  const PushOptions& where = operation.options;
  if (where.device.is_gpu()) return &lanes_[{where.device, where.lane}];
  if (where.lane == Lane::kCompute && many_compute_) return nullptr;
  return &lanes_[{Device::cpu(), where.lane}];  // all CPU devices share the lanes of one
}

void ExploreSchedule::push(ExploreOperation& operation) {
  const PlainOperation& pushed = operation.pushed;
  operation.sequence = pushed.sequence;
  operation.set_priority(pushed.options.priority);
  operation.lane = find_lane(pushed);
  operation.not_granted = pushed.reads.size() + pushed.mutates.size();
  operation.accesses.reserve(operation.not_granted);
  for (const Var& var : pushed.mutates) add(operation, VarRef(var).state(), /*write=*/true);
  for (const Var& var : pushed.reads) add(operation, VarRef(var).state(), /*write=*/false);
  if (operation.accesses.empty()) make_ready(operation);
  credit_ = std::min(Tracker::kMaxCredit, credit_ + Tracker::kCreditPerPush);
  // What a deletion waits for is no more urgent than before.
  if (pushed.kind != Submission::Kind::kDelete) lend_priority(operation);
}

void ExploreSchedule::lend_priority(ExploreOperation& operation) {
  const int priority = operation.priority();
  std::vector<ExploreOperation*> blocked = {&operation};
  while (!blocked.empty()) {
    const ExploreOperation& waiting = *blocked.back();
    blocked.pop_back();
    for (const auto& [var, access] : waiting.accesses) {
      if (!access->granted) raise_before(variables_.at(var), access, priority, blocked);
    }
  }
}

/// Raises what `access` waits for, which may wait itself: it is added to `blocked`.
void ExploreSchedule::raise_before(Variable& variable, std::list<ExploreAccess>::iterator access,
                                   int priority, std::vector<ExploreOperation*>& blocked) {
  for (auto before = access; before != variable.accesses.begin() && credit_ != 0;) {
    --before;
    --credit_;
    if (!access->write && !before->write) continue;
    ExploreOperation& other = *before->operation;
    if (other.priority() < priority) {
      raise(other, priority);
      blocked.push_back(&other);
    }
    if (before->write) break;
  }
}

void ExploreSchedule::raise(ExploreOperation& operation, int priority) {
  const int before = operation.priority();
  operation.set_priority(priority);
  const bool may_be_queued = operation.lane != nullptr && operation.not_granted == 0;
  if (may_be_queued) operation.lane->ready.raise(operation, before, priority);
}

void ExploreSchedule::add(ExploreOperation& operation, VarState* var, bool write) {
  Variable& variable = variables_[var];
  std::list<ExploreAccess>& accesses = variable.accesses;
  const bool only_reads_before =
      accesses.empty() || (accesses.back().granted && !accesses.back().write);
  const bool may_go = write ? accesses.empty() : only_reads_before;
  accesses.push_back({.operation = &operation, .write = write});
  operation.accesses.emplace_back(var, std::prev(accesses.end()));
  if (write) variable.writes.push_back(&operation);
  if (may_go) grant(accesses.back());
}

void ExploreSchedule::grant(ExploreAccess& access) {
  access.granted = true;
  if (--access.operation->not_granted == 0) make_ready(*access.operation);
}

void ExploreSchedule::make_ready(ExploreOperation& operation) {
  if (operation.pushed.pushed_at != 0) operation.pushed.ready_at = now_ns();
  if (operation.lane != nullptr) {
    operation.lane->ready.push(operation);
  } else {
    unordered_.push_back(&operation);
  }
}

ExploreOperation* ExploreSchedule::choose() {
  const auto is_candidate = [](const ExploreLane& lane) {
    return !lane.is_busy && !lane.ready.empty();
  };
  std::size_t candidates = unordered_.size();
  for (const auto& [where, lane] : lanes_) candidates += is_candidate(lane) ? 1 : 0;
  if (candidates == 0) return nullptr;
  std::size_t index = draw() % candidates;
  if (index < unordered_.size()) {
    std::swap(unordered_[index], unordered_.back());
    ExploreOperation* const chosen = unordered_.back();
    unordered_.pop_back();
    return chosen;
  }
  index -= unordered_.size();
  auto found = lanes_.begin();
  while (!is_candidate(found->second) || index-- != 0) ++found;
  found->second.is_busy = true;
  return static_cast<ExploreOperation*>(found->second.ready.pop());
}

void ExploreSchedule::free_lane(ExploreOperation& operation) {
  if (operation.lane != nullptr) operation.lane->is_busy = false;
}

void ExploreSchedule::end(ExploreOperation& operation) {
  for (const auto& [var, place] : operation.accesses) {
    const auto entry = variables_.find(var);
    Variable& variable = entry->second;
    if (place->write) variable.writes.pop_front();  // granted, so it is the oldest
    variable.accesses.erase(place);
    if (variable.accesses.empty()) {
      variables_.erase(entry);
      continue;
    }
    auto next = variable.accesses.begin();
    if (next->granted) continue;
    const bool writes = next->write;
    do {
      grant(*next++);
    } while (!writes && next != variable.accesses.end() && !next->write);
  }
  operation.accesses.clear();
}

bool ExploreSchedule::is_settled(VarState* var, bool reads_too, std::uint64_t last) const {
  const auto entry = variables_.find(var);
  if (entry == variables_.end()) return true;
  const Variable& variable = entry->second;
  if (reads_too) return variable.accesses.front().operation->sequence > last;
  return variable.writes.empty() || variable.writes.front()->sequence > last;
}

const ExploreOperation* ExploreSchedule::last_writer(VarState* var) const {
  const auto entry = variables_.find(var);
  if (entry == variables_.end() || entry->second.writes.empty()) return nullptr;
  return entry->second.writes.back();
}

}  // namespace heddle::detail
