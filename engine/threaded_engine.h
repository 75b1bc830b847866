#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/ledger.h"
#include "engine/router.h"
#include "engine/stall_report.h"
#include "engine/trace_log.h"
#include "engine/watchdog.h"

namespace heddle::detail {

/// Runs operations on worker threads and streams (kThreaded and kPooled).
///
/// An operation goes push -> Ledger -> ready -> Router -> LaneQueue -> execute -> settle ->
/// Ledger, which makes others ready. This class is the way between these parts; each of them has
/// its own lock, and no callable runs under any.
///
/// Lock order: a queue's lock is never held while the ledger's is taken, nor the other way round.
///
/// Thread safety: every member may be called from any thread.
class ThreadedEngine final : public EngineCore {
 public:
  explicit ThreadedEngine(const EngineOptions& options);
  ~ThreadedEngine() override;

  bool try_admit() override;
  void cancel_admission() override { ledger_.give_back_place(); }
  std::uint64_t submit(Submission&& submission) override;
  Route inspect(const Submission& submission) override;
  std::uint64_t submit_block(ProgramRun& run) override;
  void wait_for_var(VarState* var, bool reads_too) override;
  void wait_for_all() override;
  std::uint64_t version(VarState* var) const override;
  std::string describe_writer(VarState* var) const override;
  ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) override;
  bool stop_requested() const override { return cancelling_.load(); }
  std::vector<OpRecord> trace() const override { return trace_.records(); }
  void report(OpError error) override;
  bool close() override;
  void finish_at_exit(std::chrono::milliseconds limit) override;

  // For the queues.
  Ledger& ledger() { return ledger_; }
  bool tracing() const { return trace_.enabled(); }
  /// All operations so far have gone to the same queue.
  bool is_only_queue() const { return router_.size() == 1; }
  /// Runs the callable of `op`, or skips it, and destroys the callable. Does not throw.
  void execute(Operation& op);
  /// After execute(): ends `op` unless its Completion or its issuer has to. It is gone then. What
  /// becomes ready is added to `ready`. A worker posts the operation in its mailbox, and gets
  /// whether somebody waits for that, so that Ledger::collect() must be called.
  Awaited after_callable(Operation& op, ReadyList& ready, Mailbox* mailbox = nullptr);
  /// Ends `op`, which is gone then.
  void finish(Operation& op, ReadyList& ready);
  /// Gives every operation of `ready` to its queue.
  void dispatch(ReadyList& ready);
  /// Takes note of what workers have posted.
  void collect();
  /// Starts the watchdog, when there are threads to watch.
  void watch() { watchdog_.start(); }

 private:
  struct OpCompletion;  // the AsyncState of this engine
  struct Ready;

  Route route(const Submission& submission);
  void wait_for_room();
  /// Dispatches the operations that workers run, and leaves the others in `ready`.
  void dispatch_to_workers(ReadyList& ready);
  void wait(Waiter& waiter, bool for_var);
  void call_async(Operation& op, RunContext& context);
  /// Decides how `op` has ended and what it leaves in its variables.
  void settle(Operation& op);
  void keep_record(const Operation& op);
  std::size_t pending();
  Watchdog::Progress progress();
  std::string describe_pending();

  mutable Ledger ledger_;
  ErrorLog errors_;
  TraceLog trace_;
  std::atomic<bool> cancelling_{false};
  std::atomic<bool> halted_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> any_cancelled_{false};

  StallReport stall_report_;  ///< of the watchdog's thread
  Watchdog watchdog_;

  Router router_;  ///< last: its threads use everything above
};

}  // namespace heddle::detail
