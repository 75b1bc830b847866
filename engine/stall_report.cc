#include "engine/stall_report.h"

#include <iterator>
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

void StallReport::add(const Operation& op) {
  if (++added_ > kMost) return;
  text_ << "  ";
  write_name(text_, op.sequence, op.name());
  text_ << " on " << op.device.str() << ", lane " << lane_name(op.lane()) << ": ";
  const Operation::Phase phase = op.phase.load(std::memory_order_relaxed);
  GraphRun* const run = phase == Operation::Phase::kGranted ? op.use.run : nullptr;
  switch (phase) {
    case Operation::Phase::kRunning:
      add_time(op.sequence);
      break;
    case Operation::Phase::kGranted:
      text_ << "part of a run of " << run->size() << " recorded operations, of which "
            << run->ended() << " have ended";
      run->visit_running([&](std::uint32_t i) {
        text_ << "; ";
        write_name(text_, run->sequence(i), run->op(i).name);
        text_ << ' ';
        add_time(run->sequence(i));
      });
      break;
    case Operation::Phase::kWaitingForMemory:
      text_ << "waits for memory of " << op.device.str();
      break;
    case Operation::Phase::kReturned:
      text_ << (op.is(Operation::kAsync) ? "its Completion has not been used" : "ends");
      break;
    default:
      if (op.blockers != 0) {
        write_blockers(text_, op);
      } else {
        text_ << (op.is_issued() ? "issued to its stream"
                                 : "ready, but nothing has taken it up yet");
      }
  }
  text_ << '\n';
}

void StallReport::add_time(std::uint64_t sequence) {
  const auto seen = running_.find(sequence);
  const Clock::duration time =
      seen != running_.end() ? Clock::now() - seen->second.first : Clock::duration(0);
  text_ << "runs, for at least " << std::chrono::duration<double>(time).count() << " s";
}

std::string StallReport::text() {
  if (added_ > kMost) text_ << "  and " << added_ - kMost << " more\n";
  added_ = 0;
  return std::exchange(text_, {}).str();
}

}  // namespace heddle::detail
