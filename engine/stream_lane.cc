#include "engine/stream_lane.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "engine/base/sync.h"
#include "engine/device/host_wait.h"
#include "engine/kept_nodes.h"
#include "engine/threaded_engine.h"
#include "engine/trace_log.h"

namespace heddle::detail {
namespace {

/// How long an operation may have to wait for younger ones, in ns: a stream that has less to do
/// might run dry before the next is issued.
constexpr std::int64_t kAhead = 50'000;

/// Operations that one thread issues before it goes on with its own.
constexpr int kMostIssued = 256;

/// Operations that it issues while it has others of other lanes to issue.
constexpr int kTurn = 16;

/// Other streams that an operation waits for, for which there is room from the start.
constexpr std::size_t kUsual = 64;

/// Until who lacks memory to issue an operation looks for some again.
constexpr std::chrono::milliseconds kForMemory{1};

}  // namespace

StreamLane::StreamLane(ThreadedEngine& engine, std::unique_ptr<device::Stream> stream,
                       std::uint16_t flags, bool on_host, WorkerPool* pool, int window)
    : LaneQueue(pool, flags | Operation::kOnStream, /*runs_callables=*/!on_host),
      engine_(engine),
      window_(window),
      stream_(std::move(stream)) {
  waits_.reserve(kUsual);
}

void StreamLane::announce(Operation& operation) {
  if (!runs_callables()) announced_.add(operation);
}

void StreamLane::submit(ReadyList operations) {
  std::unique_lock lock(mutex_);
  if (in_flight_ >= kCrowd && ++unlooked_ >= kCrowd) retire_some(lock);
  while (Operation* const op = operations.pop()) {
    announced_.remove(*op);
    queue_.push(*op);
  }
  issue_some(lock);
}

void StreamLane::raise(Operation& operation, int from, int to) {
  const std::lock_guard lock(mutex_);
  queue_.raise(operation, from, to);
}

/// The caller has an operation that is not queued yet, so the stream stays.
void StreamLane::retire_some(std::unique_lock<base::SpinLock>& lock) {
  unlooked_ = 0;
  lock.unlock();
  stream_->retire();
  lock.lock();
}

void StreamLane::issue_some(std::unique_lock<base::SpinLock>& lock) {
  if (issuing_) return;
  issuing_ = true;
  device::DeferredCalls* const later = runs_callables() ? device::deferred_calls() : nullptr;
  if (later == nullptr || !may_issue() || !may_lack_memory()) return issue_claimed(lock);
  later->add(deferred_);
}

/// Until then the lane stays, as something is queued, and from then on as close() waits.
void StreamLane::issue_deferred(void* lane) {
  auto& self = *static_cast<StreamLane*>(lane);
  std::unique_lock lock(self.mutex_);
  self.issue_claimed(lock);
}

void StreamLane::close() {
  // Who has issued the last operation may be about to see that there is none any more.
  const auto is_left = [this] {
    const std::lock_guard lock(mutex_);
    return !issuing_;
  };
  while (!is_left()) base::yield();
  stream_.reset();
}

/// By the thread that has set issuing_.
void StreamLane::issue_claimed(std::unique_lock<base::SpinLock>& lock) {
  bool is_held = false;  // by the stream: what was issued last
  // Others may queue for ever: after many it is for who frees the next place, or for the next turn.
  int issued = 0;
  for (;;) {
    while (may_issue() && (issued < kMostIssued || in_flight_ == 0)) {
      if (issued >= kTurn && !is_held && may_lack_memory() && go_behind_others()) return;
      auto& op = static_cast<Operation&>(*queue_.pop());
      op.extras->has_place = !stream_->joins(op.extras->recorded);
      if (op.extras->has_place && in_flight_++ == 0 && is_ahead_) since_ = now_ns();
      if (op.extras->has_place) ++issued;
      lock.unlock();
      issue(op, is_held);
      lock.lock();
    }
    if (!std::exchange(is_held, false)) break;
    lock.unlock();
    stream_->flush();
    lock.lock();
  }
  issuing_ = false;
  if (!queue_.empty()) hurry();
}

/// True if there are others whose turn it is with the thread; afterwards it is this lane's again.
bool StreamLane::go_behind_others() {
  device::DeferredCalls* const others = device::deferred_calls();
  if (others == nullptr || others->empty()) return false;
  others->add(deferred_);
  return true;
}

const Operation* StreamLane::first() const {
  return static_cast<const Operation*>(queue_.first().node);
}

/// What only frees calls nothing of the user's, and waits for nothing.
bool StreamLane::may_lack_memory() const {
  return runs_callables() && (first() == nullptr || !first()->is(Operation::kFreesEarly));
}

/// The caller may be the thread that ends the process, which must not stop at a callable.
bool StreamLane::is_halted() const { return engine_.has_halted() && may_lack_memory(); }

bool StreamLane::may_issue() {
  if (queue_.empty() || is_halted()) return false;
  if (in_flight_ < most_in_flight()) return true;
  return first() != nullptr && stream_->joins(first()->extras->recorded);
}

void StreamLane::issue(Operation& op, bool& is_held) noexcept {
  is_held = false;
  if (engine_.tracing()) op.extras->issued_at = now_ns();
  // An asynchronous operation ends when its Completion says so, of which the stream knows nothing:
  // what depends on it is released then, and `op` may be gone as soon as it is issued.
  const bool is_async = op.is(Operation::kAsync);
  const device::Work work = {.run = &StreamLane::run,
                             .finished = &StreamLane::finished,
                             .argument = &op,
                             .priority = op.priority(),
                             .sequence = op.sequence,
                             .brief = op.is(Operation::kBrief),
                             .failed = &StreamLane::failed,
                             .name = op.name(),
                             .is_async = is_async,
                             .is_awaited = is_async || engine_.tracing(),
                             .recorded = op.extras->recorded,
                             .is_held = &is_held};
  if (runs_callables()) KeptNodes::give_back();
  const device::Token token = issue_behind_others(op, work);
  if (is_async) return;
  ReadyList ready;
  if (!engine_.ledger().issued(op, token, ready)) engine_.ledger().end(op, ready);
  engine_.dispatch(ready);
}

/// What was taken is not lost where there is no memory: it waits for some.
device::Token StreamLane::issue_behind_others(const Operation& op, const device::Work& work) {
  for (;;) {
    try {
      engine_.ledger().tokens_before(op, waits_);
      return stream_->issue(work, waits_);
    } catch (const std::bad_alloc&) {
      // What this thread keeps, or holds back as until the HostWait, may be what gives some back.
      KeptNodes::give_back();
      const device::HostWait wait;
      base::sleep_for(kForMemory);
    }
  }
}

void StreamLane::run(void* operation) {
  auto& op = *static_cast<Operation*>(operation);
  static_cast<StreamLane*>(op.queue)->engine_.execute(op);
}

void StreamLane::failed(void* operation, std::exception_ptr error) {
  auto& op = *static_cast<Operation*>(operation);
  op.keep_thrown(std::move(error));
}

void StreamLane::finished(void* operation) {
  auto& op = *static_cast<Operation*>(operation);
  auto& lane = *static_cast<StreamLane*>(op.queue);
  const bool has_place = op.extras->has_place;
  ReadyList ready;
  static_cast<void>(lane.engine_.after_callable(op, ready));  // it is a stream's
  lane.engine_.dispatch(ready);
  if (has_place) lane.free_place();
}

void StreamLane::free_place() {
  std::unique_lock lock(mutex_);
  --in_flight_;
  measure();
  // As long as a real GPU has enough this is left to who pushes: two threads would only be in each
  // other's way. Nobody may come, but more will end.
  if (!runs_callables() || in_flight_ <= window_ - window_ / 4) issue_some(lock);
}

/// Once the next one is issued, too.
int StreamLane::most_in_flight() {
  is_ahead_ = announced_.go_before(queue_.first());
  if (!is_ahead_) return window_;
  if (took_ == 0) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(kAhead / took_, 1, window_));
}

/// An operation has ended.
void StreamLane::measure() {
  const std::int64_t begin = std::exchange(since_, 0);
  if (!is_ahead_) return;
  const std::int64_t now = now_ns();
  if (in_flight_ != 0) since_ = now;
  if (begin == 0) return;
  const std::int64_t took = std::max<std::int64_t>(now - begin, 1);
  took_ = took_ == 0 ? took : (3 * took_ + took) / 4;
}

}  // namespace heddle::detail
