#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/thread_group.h"
#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/pending_limit.h"
#include "engine/router.h"
#include "engine/trace_log.h"
#include "engine/tracker.h"

namespace heddle::detail {

/// Runs operations on worker threads and streams (kThreaded and kPooled).
///
/// An operation goes push -> Tracker -> ready -> Router -> LaneQueue -> execute -> finish ->
/// Tracker, which makes others ready. This class is the way between these parts; each of them has
/// its own lock, and no callable runs under any.
///
/// Lock order: a queue's lock is never held while the tracker's is taken, nor the other way round.
///
/// Thread safety: every member may be called from any thread.
class ThreadedEngine final : public EngineCore {
 public:
  explicit ThreadedEngine(const EngineOptions& options);
  ~ThreadedEngine() override;

  bool admit(AdmissionMode mode) override;
  void cancel_admission() override { pending_.release(); }
  std::uint64_t submit(Submission&& submission) override;
  void wait_for_var(VarState* var, bool reads_too) override;
  void wait_for_all() override;
  std::uint64_t version(VarState* var) const override { return tracker_.version(var); }
  std::string describe_writer(VarState* var) const override {
    return tracker_.describe_writer(var);
  }
  ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) override;
  bool stop_requested() const override { return cancelling_.load(); }
  std::vector<OpRecord> trace() const override { return trace_.records(); }
  void report(OpError error) override;
  bool close() override;
  void finish_at_exit(std::chrono::milliseconds limit) override;

  // For the queues.
  Tracker& tracker() { return tracker_; }
  bool tracing() const { return trace_.enabled(); }
  /// Runs the callable of `op`, or skips it, and destroys the callable. Does not throw.
  void execute(Operation& op);
  /// After execute(): ends `op` unless its Completion or its issuer has to.
  void after_callable(Operation& op, ReadyList& ready);
  /// Ends `op`, which is gone then. What becomes ready is added to `ready`.
  void finish(Operation& op, ReadyList& ready);
  /// Gives every operation of `ready` to its queue.
  void dispatch(ReadyList& ready);

 private:
  struct OpCompletion;  // the AsyncState of this engine

  std::unique_ptr<Operation> new_operation();
  void call_async(Operation& op, RunContext& context);
  /// finish(), but `op` still counts as pending.
  void end(Operation& op, ReadyList& ready);
  void keep_record(const Operation& op, Outcome outcome);

  Tracker tracker_;
  PendingLimit pending_;
  ErrorLog errors_;
  TraceLog trace_;
  std::atomic<bool> cancelling_{false};
  std::atomic<bool> halted_{false};
  std::atomic<bool> abandoned_{false};

  base::Counter completed_;
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> cancelled_{0};

  alignas(64) base::SpinLock supply_lock_;
  base::Supply<Operation> supply_{tracker_.ended_operations()};  ///< guarded by it

  Router router_;  ///< last: its threads use everything above
};

}  // namespace heddle::detail
