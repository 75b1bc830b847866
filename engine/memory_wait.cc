// How an operation of a ThreadedEngine that gets no memory waits for others to give some back.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "engine/ledger.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

using Clock = std::chrono::steady_clock;
using Phase = Operation::Phase;

/// How long an operation that lacks memory waits for others of which none runs and none ends: they
/// may wait for the thread or the stream that this one has.
constexpr std::chrono::milliseconds kStuck{200};

constexpr std::chrono::microseconds kShortestPause{10};
constexpr std::chrono::microseconds kLongestPause{500};

Phase phase_of(const Operation& op) { return op.phase.load(std::memory_order_relaxed); }

/// True if `op` stands behind the waiting operation in the order of one stream.
bool is_behind(const Operation& op, const Operation& waiting) {
  return op.queue != nullptr && op.queue == waiting.queue && op.queue->is_stream() &&
         phase_of(op) == Phase::kPushed;
}

}  // namespace

Ledger::MemoryWait Ledger::begin_memory_wait(std::uint64_t sequence) {
  MemoryWait wait;
  visit_pending([&](Operation& op) {
    wait.horizon = last_sequence_;
    if (op.sequence == sequence) wait.operation = &op;
  });
  wait.operation->phase.store(Phase::kWaitingForMemory, std::memory_order_relaxed);
  return wait;
}

void Ledger::end_memory_wait(const MemoryWait& wait) {
  wait.operation->phase.store(Phase::kRunning, std::memory_order_relaxed);
}

/// What was pushed before ends, as it waits for nothing that was pushed later. Of what was pushed
/// later, what is ready may end and free what it has read; what was pushed after the wait began
/// does not count, so that the wait ends.
Ledger::Relief Ledger::relief_for(const MemoryWait& wait) {
  const Operation& self = *wait.operation;
  Relief relief = Relief::kNone;
  visit_pending([&](const Operation& op) {
    if (&op == &self || relief == Relief::kSure) return;
    const Phase phase = phase_of(op);
    const bool is_earlier = op.sequence < self.sequence;
    const bool may_run =
        op.blockers == 0 && phase != Phase::kWaitingForMemory && !is_behind(op, self);
    const bool is_free = may_run && op.is(Operation::kInline);  // some thread is at it
    if (is_earlier && (phase == Phase::kRunning || phase == Phase::kReturned)) {
      relief = Relief::kSure;
    } else if (is_earlier || is_free || (may_run && op.sequence <= wait.horizon)) {
      relief = Relief::kPossible;
    }
  });
  return relief;
}

std::uint64_t ThreadedEngine::end_and_free() {
  ReadyList ready;
  const ShutdownReport report = ledger_.ended(ready);
  dispatch(ready);
  return report.completed + report.failed + report.cancelled;
}

bool ThreadedEngine::retry_while_others_end(std::uint64_t sequence,
                                            const std::function<bool()>& attempt) const {
  auto& self = const_cast<ThreadedEngine&>(*this);  // what it ends and frees may be anything
  const Ledger::MemoryWait wait = ledger_.begin_memory_wait(sequence);
  std::uint64_t ended_before = 0;
  Clock::time_point stuck_at{};
  std::chrono::microseconds pause = kShortestPause;
  bool success = false;
  for (;;) {
    const std::uint64_t ended = self.end_and_free();
    const Ledger::Relief relief = ledger_.relief_for(wait);  // before the attempt
    success = attempt();
    if (success || relief == Ledger::Relief::kNone) break;
    if (relief == Ledger::Relief::kSure || ended != std::exchange(ended_before, ended)) {
      stuck_at = Clock::now() + kStuck;
    } else if (Clock::now() > stuck_at) {
      break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  ledger_.end_memory_wait(wait);
  return success;
}

}  // namespace heddle::detail
