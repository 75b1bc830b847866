#include "engine/explore_schedule.h"

#include <algorithm>
#include <utility>

#include "engine/stall_report.h"
#include "engine/tracker.h"
#include "engine/var_state.h"

namespace heddle::detail {

void ExploreOperation::write_blocker(std::ostream& out) const {
  for (const ExploreAccess& access : accesses) {
    if (access.granted) continue;
    const ExploreAccess* other = access.older;
    while (!access.write && !other->write) other = other->older;  // reads wait for a write only
    const ExploreOperation& before = *other->operation;
    out << "waits for ";
    write_name(out, before.sequence, before.pushed.name);
    out << " (variable '" << access.var->name << "')";
    return;
  }
}

void ExploreVariable::append(ExploreAccess& access) noexcept {
  access.older = newest;
  (newest != nullptr ? newest->newer : oldest) = &access;
  newest = &access;
  if (!access.write) return;
  (newest_write != nullptr ? newest_write->newer_write : oldest_write) = &access;
  newest_write = &access;
}

/// A granted one: if it is a write, it is the oldest.
void ExploreVariable::remove(ExploreAccess& access) noexcept {
  (access.older != nullptr ? access.older->newer : oldest) = access.newer;
  (access.newer != nullptr ? access.newer->older : newest) = access.older;
  if (!access.write) return;
  oldest_write = access.newer_write;
  if (oldest_write == nullptr) newest_write = nullptr;
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

ExploreLane* ExploreSchedule::find_lane(const PlainOperation& operation, bool has_callable) {
  const bool is_free = operation.kind == Submission::Kind::kDelete;
  if (!has_callable || (is_free && operation.options.brief)) return nullptr;
  const PushOptions& where = operation.options;
  if (where.device.is_gpu()) return &lanes_[{where.device, where.lane}];
  if (where.lane == Lane::kCompute && many_compute_) return nullptr;
  return &lanes_[{Device::cpu(), where.lane}];  // all CPU devices share the lanes of one
}

void ExploreSchedule::prepare(ExploreOperation& operation, bool has_callable, std::size_t pending) {
  const PlainOperation& pushed = operation.pushed;
  operation.lane = find_lane(pushed, has_callable);
  if (unordered_.capacity() < pending) unordered_.reserve(2 * pending);
  operation.accesses.reserve(pushed.mutates.size() + pushed.reads.size());
  const auto add = [&](const Var& var, bool write) {
    VarState* const state = VarRef(var).state();
    ExploreVariable& variable = variables_[state];
    operation.accesses.push_back(
        {.operation = &operation, .var = state, .variable = &variable, .write = write});
  };
  for (const Var& var : pushed.mutates) add(var, /*write=*/true);
  for (const Var& var : pushed.reads) add(var, /*write=*/false);
}

void ExploreSchedule::forget(const ExploreOperation& operation) noexcept {
  const auto drop = [this](const Var& var) {
    const auto entry = variables_.find(VarRef(var).state());
    if (entry != variables_.end() && entry->second.empty()) variables_.erase(entry);
  };
  std::for_each(operation.pushed.mutates.begin(), operation.pushed.mutates.end(), drop);
  std::for_each(operation.pushed.reads.begin(), operation.pushed.reads.end(), drop);
}

void ExploreSchedule::push(ExploreOperation& operation) noexcept {
  const PlainOperation& pushed = operation.pushed;
  operation.sequence = pushed.sequence;
  operation.set_priority(pushed.options.priority);
  operation.not_granted = operation.accesses.size();
  for (ExploreAccess& access : operation.accesses) {
    const ExploreAccess* const before = access.variable->newest;
    const bool may_go = before == nullptr || (!access.write && !before->write && before->granted);
    access.variable->append(access);
    if (may_go) grant(access);
  }
  if (operation.accesses.empty()) make_ready(operation);
  credit_ = std::min(Tracker::kMaxCredit, credit_ + Tracker::kCreditPerPush);
  // What a deletion waits for is no more urgent than before.
  if (pushed.kind != Submission::Kind::kDelete) lend_priority(operation);
}

void ExploreSchedule::lend_priority(ExploreOperation& operation) noexcept {
  if (operation.not_granted == 0) return;
  const int priority = operation.priority();
  ReadyNode* blocked = &operation;  // and more, by `newer`: they are in no queue
  while (blocked != nullptr) {
    const auto& waiting = static_cast<const ExploreOperation&>(*blocked);
    blocked = std::exchange(blocked->newer, nullptr);
    for (const ExploreAccess& access : waiting.accesses) {
      if (!access.granted) raise_before(access, priority, blocked);
    }
  }
}

/// Raises what `access` waits for; what of that waits itself is put before `blocked`.
void ExploreSchedule::raise_before(const ExploreAccess& access, int priority,
                                   ReadyNode*& blocked) noexcept {
  for (const ExploreAccess* before = access.older; before != nullptr && credit_ != 0;
       before = before->older) {
    --credit_;
    if (!access.write && !before->write) continue;
    ExploreOperation& other = *before->operation;
    if (other.priority() < priority) {
      raise(other, priority);
      if (other.not_granted != 0) other.newer = std::exchange(blocked, &other);
    }
    if (before->write) break;
  }
}

void ExploreSchedule::raise(ExploreOperation& operation, int priority) noexcept {
  const int before = operation.priority();
  operation.set_priority(priority);
  const bool may_be_queued = operation.lane != nullptr && operation.not_granted == 0;
  if (may_be_queued) operation.lane->ready.raise(operation, before, priority);
}

void ExploreSchedule::grant(ExploreAccess& access) noexcept {
  access.granted = true;
  if (--access.operation->not_granted == 0) make_ready(*access.operation);
}

void ExploreSchedule::make_ready(ExploreOperation& operation) noexcept {
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

void ExploreSchedule::end(ExploreOperation& operation) noexcept {
  for (ExploreAccess& access : operation.accesses) {
    ExploreVariable& variable = *access.variable;
    variable.remove(access);
    if (variable.empty()) {
      variables_.erase(access.var);
      continue;
    }
    ExploreAccess* next = variable.oldest;
    if (next->granted) continue;
    const bool writes = next->write;
    do {
      grant(*next);
      next = next->newer;
    } while (!writes && next != nullptr && !next->write);
  }
  operation.accesses.clear();
}

bool ExploreSchedule::is_settled(VarState* var, bool reads_too, std::uint64_t last) const {
  const auto entry = variables_.find(var);
  if (entry == variables_.end()) return true;
  const ExploreAccess* const first = reads_too ? entry->second.oldest : entry->second.oldest_write;
  return first == nullptr || first->operation->sequence > last;
}

const ExploreOperation* ExploreSchedule::last_writer(VarState* var) const {
  const auto entry = variables_.find(var);
  if (entry == variables_.end() || entry->second.newest_write == nullptr) return nullptr;
  return entry->second.newest_write->operation;
}

}  // namespace heddle::detail
