// How an operation of a ThreadedEngine that gets no memory waits for others to give some back.

#include "engine/memory_wait.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/sync.h"
#include "engine/device/host_wait.h"
#include "engine/graph_run_visit.h"
#include "engine/ledger.h"
#include "engine/operation_scope.h"
#include "engine/threaded_engine.h"

namespace heddle::detail {
namespace {

using Clock = base::Clock;
using Phase = Operation::Phase;

/// How long an operation that lacks memory waits while no worker runs what was pushed before it and
/// nothing ends: the others may wait for the thread or the stream that this one has, or for what
/// the program does when it has ended.
constexpr std::chrono::milliseconds kStuck{500};
/// The same while a GPU has begun with one of those, which mostly ends without the host.
constexpr std::chrono::seconds kStuckBehindGpu{60};

constexpr std::chrono::microseconds kShortestPause{10};
constexpr std::chrono::microseconds kLongestPause{500};

Phase phase_of(const Operation& op) { return op.phase.load(std::memory_order_relaxed); }

/// True if `op` stands behind the waiting operation in the order of one stream.
bool is_behind(const Operation& op, const MemoryWait& wait) {
  return op.queue != nullptr && op.queue == wait.queue && op.queue->is_stream() &&
         phase_of(op) == Phase::kPushed;
}

}  // namespace

MemoryWait Ledger::begin_memory_wait() {
  MemoryWait wait;
  std::vector<std::uint64_t> inside;  // sequence numbers, the innermost first
  for (const OperationScope* scope = OperationScope::current(); scope != nullptr;
       scope = scope->outer()) {
    if (scope->engine() == &engine_) inside.push_back(scope->sequence());
  }
  wait.sequence = inside.front();
  wait.operations.reserve(inside.size());
  {
    const std::scoped_lock lock(lock_, intake_.lock());
    wait.horizon = intake_.last_sequence();
  }
  visit_pending([&](Operation& op) {
    if (op.kind() == Submission::Kind::kUse) return;
    if (op.sequence == wait.sequence) wait.queue = op.queue;
    if (std::find(inside.begin(), inside.end(), op.sequence) == inside.end()) return;
    wait.operations.push_back(&op);
    op.phase.store(Phase::kWaitingForMemory, std::memory_order_relaxed);
  });
  return wait;
}

void Ledger::end_memory_wait(const MemoryWait& wait) {
  for (Operation* const op : wait.operations) {
    op->phase.store(Phase::kRunning, std::memory_order_relaxed);
  }
}

/// What was pushed before waits for nothing that was pushed later; but on a stream it may wait for
/// this thread, which may be issuing what stands before it there, and an asynchronous one for
/// anything. Of what was pushed later, what is ready may end and free what it has read.
MemoryRelief Ledger::relief_for(const MemoryWait& wait) {
  MemoryRelief relief;
  visit_pending([&](const Operation& op) {
    if (op.sequence <= wait.horizon) ++relief.pending;
    const auto& own = wait.operations;
    if (std::find(own.begin(), own.end(), &op) != own.end()) return;
    const Phase phase = phase_of(op);
    const bool is_earlier = op.sequence < wait.sequence;
    const bool may_run =
        op.blockers == 0 && phase != Phase::kWaitingForMemory && !is_behind(op, wait);
    if (phase == Phase::kGranted) {
      GraphRun& run = *op.use.run;
      run.visit_running([&](std::uint32_t i) {
        if (run.sequence(i) < wait.sequence) relief.is_sure = true;
      });
    }
    const bool is_free =
        may_run && (op.is(Operation::kNoQueue) || op.kind() == Submission::Kind::kDelete);
    if (is_earlier && phase == Phase::kRunning) {
      if (!op.is(Operation::kOnStream)) {
        relief.is_sure = true;
      } else if (op.is_issued()) {
        relief.is_on_gpu = true;
      }
    }
    if (is_earlier || is_free || (may_run && op.sequence <= wait.horizon)) {
      relief.is_possible = true;
    }
  });
  return relief;
}

bool ThreadedEngine::retry_while_others_end(const std::function<bool()>& attempt) const {
  struct Waiting {
    explicit Waiting(Ledger& ledger) : wait(ledger.begin_memory_wait()) {}
    ~Waiting() { Ledger::end_memory_wait(wait); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    const MemoryWait wait;
  };
  auto& self = const_cast<ThreadedEngine&>(*this);  // frees may be run, which changes nothing else
  self.take_in();                                   // so that what this thread runs has a place
  const Waiting waiting(ledger_);
  std::size_t pending = 0;
  Clock::time_point stuck_since = Clock::now();
  for (std::chrono::microseconds pause = kShortestPause;;
       pause = std::min(2 * pause, kLongestPause)) {
    self.take_in();
    const Clock::time_point now = Clock::now();
    const MemoryRelief relief = ledger_.relief_for(waiting.wait);  // before the attempt
    if (attempt()) return true;
    if (!relief.is_possible) return false;
    self.router_.hurry();  // what they free may be on its way
    if (relief.is_sure || relief.pending < pending) {
      stuck_since = now;
    } else if (now - stuck_since > (relief.is_on_gpu ? kStuckBehindGpu : kStuck)) {
      return false;
    }
    pending = relief.pending;
    const device::HostWait wait;
    base::sleep_for(pause);
  }
}

}  // namespace heddle::detail
