#include "engine/stall_report.h"

#include <chrono>
#include <iterator>
#include <sstream>
#include <utility>

#include "engine/graph_run_visit.h"
#include "engine/var_state.h"

namespace heddle::detail {
namespace {

void write_blockers(std::ostream& out, const Operation& op) {
  constexpr int kMost = 4;
  int written = 0;
  op.for_each_access([&](const Access& access) {
    for (const Access* earlier = access.older; earlier != nullptr; earlier = earlier->older) {
      if (!access.is_write() && !earlier->is_write()) continue;
      if (written++ < kMost) {
        out << (written == 1 ? "waits for " : ", ");
        const Operation& other = earlier->operation();
        write_name(out, other.sequence, other.name());
        out << " (variable '" << access.var().name << "')";
      }
      if (earlier->is_write()) break;
    }
  });
  if (written > kMost) out << " and " << written - kMost << " more";
}

/// As opposed to what runs, or has come so far that only its device or its Completion ends it.
bool waits_for_others(const Operation& op) {
  switch (op.phase.load(std::memory_order_relaxed)) {
    case Operation::Phase::kRunning:
    case Operation::Phase::kGranted:
    case Operation::Phase::kWaitingForMemory:
    case Operation::Phase::kReturned:
      return false;
    default:
      return op.blockers != 0;
  }
}

}  // namespace

void write_name(std::ostream& out, std::uint64_t sequence, std::string_view name) {
  out << '#' << sequence;
  if (!name.empty()) out << " '" << name << "'";
}

void StallReport::see(std::uint64_t sequence) {
  running_.try_emplace(sequence, Seen{Clock::now()}).first->second.is_current = true;
}

void StallReport::look(const Operation& op) {
  if (op.phase.load(std::memory_order_relaxed) == Operation::Phase::kGranted) {
    GraphRun& run = *op.use.run;
    run.visit_running([&](std::uint32_t i) { see(run.sequence(i)); });
  }
  if (op.phase.load(std::memory_order_relaxed) != Operation::Phase::kRunning) return;
  see(op.sequence);
}

void StallReport::end_look() {
  for (auto seen = running_.begin(); seen != running_.end();) {
    const bool is_current = std::exchange(seen->second.is_current, false);
    seen = is_current ? std::next(seen) : running_.erase(seen);
  }
}

void StallReport::choose(const Operation& op) {
  ++pending_;
  chosen_.try_emplace({waits_for_others(op), op.sequence});
  if (chosen_.size() > kMost) chosen_.erase(std::prev(chosen_.end()));
}

void StallReport::describe(const Operation& op) {
  auto chosen = chosen_.find({false, op.sequence});  // it may have become ready in between
  if (chosen == chosen_.end()) chosen = chosen_.find({true, op.sequence});
  if (chosen == chosen_.end()) return;
  std::ostringstream line;
  write(line, op);
  chosen->second = line.str();
}

void StallReport::write(std::ostream& out, const Operation& op) const {
  out << "  ";
  write_name(out, op.sequence, op.name());
  out << " on " << op.device.str() << ", lane " << lane_name(op.lane()) << ": ";
  const Operation::Phase phase = op.phase.load(std::memory_order_relaxed);
  GraphRun* const run = phase == Operation::Phase::kGranted ? op.use.run : nullptr;
  switch (phase) {
    case Operation::Phase::kRunning:
      write_time(out, op.sequence);
      break;
    case Operation::Phase::kGranted:
      out << "part of a run of " << run->size() << " recorded operations, of which " << run->ended()
          << " have ended";
      run->visit_running([&](std::uint32_t i) {
        out << "; ";
        write_name(out, run->sequence(i), run->op(i).name);
        out << ' ';
        write_time(out, run->sequence(i));
      });
      break;
    case Operation::Phase::kWaitingForMemory:
      out << "waits for memory of " << op.device.str();
      break;
    case Operation::Phase::kReturned:
      out << (op.is(Operation::kAsync) ? "its Completion has not been used" : "ends");
      break;
    default:
      if (waits_for_others(op)) {
        write_blockers(out, op);
      } else {
        out << (op.is_issued() ? "issued to its stream" : "ready, but nothing has taken it up yet");
      }
  }
  out << '\n';
}

void StallReport::write_time(std::ostream& out, std::uint64_t sequence) const {
  const auto seen = running_.find(sequence);
  const Clock::duration time =
      seen != running_.end() ? Clock::now() - seen->second.first : Clock::duration(0);
  out << "runs, for at least " << std::chrono::duration<double>(time).count() << " s";
}

std::string StallReport::text() {
  std::string text;
  for (const auto& [place, line] : chosen_) text += line;
  if (pending_ > kMost) text += "  and " + std::to_string(pending_ - kMost) + " more\n";
  chosen_.clear();
  pending_ = 0;
  return text;
}

}  // namespace heddle::detail
