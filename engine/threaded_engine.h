#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/sync.h"
#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/graph_run.h"
#include "engine/ledger.h"
#include "engine/router.h"
#include "engine/stall_report.h"
#include "engine/trace_log.h"
#include "engine/watchdog.h"

namespace heddle::detail {

class OperationScope;

/// Runs operations on worker threads and streams (kThreaded and kPooled).
///
/// An operation goes push -> Router, which knows its queue -> Intake or Ledger -> ready ->
/// LaneQueue -> execute -> settle -> Ledger, which makes others ready. This class is the way
/// between these parts; each of them has its own lock, and no callable runs under any.
///
/// Words that the engine's files share: a *plain* push just runs on a worker. A push that lies in
/// the Intake has *arrived*; to *take it in* is to give it its *place* behind what it conflicts
/// with. A *place among the pending* is what max_pending counts. A *seat* is the right to run
/// something in a pool. A worker without work *searches*, then *naps* for 50 us, or *sleeps* until
/// it is woken. A variable is *poisoned* while its last write has failed. A lane's *window* is how
/// many operations its stream may hold. A *line* is one of the cache.
///
/// Lock order: the router's, the ledger's, the intake's, a queue's: LaneQueue::raise() and submit()
/// take that under the others, which are never taken while it is held. A stretch's is taken under
/// the ledger's or none, a tour's before a queue's, a run's under a queue's, the ledger's and
/// intake's or none; under a stretch's or a run's nothing is.
///
/// Thread safety: every member may be called from any thread.
class ThreadedEngine final : public EngineCore {
 public:
  explicit ThreadedEngine(const EngineOptions& options);
  ~ThreadedEngine() override;

  bool try_admit() override;
  void cancel_admission() override { ledger_.give_back_place(); }
  std::uint64_t push(Task& task, VarList reads, VarList mutates,
                     const PushOptions& options) override;
  std::uint64_t submit(Submission& submission) override;
  Route inspect(const Submission& submission) override;
  std::uint64_t submit_block(ProgramRun& run) override;
  void wait_for_var(VarState* var, bool reads_too) override;
  void wait_for_all() override;
  std::uint64_t version(VarState* var) const override;
  std::string describe_writer(VarState* var) const override;
  ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) override;
  bool stop_requested() const override { return (modes_.load() & kCancelling) != 0; }
  std::vector<OpRecord> trace() const override { return trace_.records(); }
  bool retry_while_others_end(const std::function<bool()>& attempt) const override;
  void report(FailurePtr failure) noexcept override {
    errors_.add(failure);
    ledger_.drop(std::move(failure));
  }
  bool close() override;
  void finish_at_exit(std::chrono::milliseconds limit) override;

  // For the queues.
  Ledger& ledger() { return ledger_; }
  bool tracing() const { return is_on(kTracing); }
  /// All operations so far have gone to the same queue.
  bool has_one_queue() const { return router_.size() == 1; }
  /// Runs the callable of `op`, or skips it, and destroys the callable. Does not throw.
  void execute(Operation& op);
  /// execute() and after_callable() for one that runs on this thread, which is most of them.
  bool run(Operation& op, ReadyList& ready);
  /// Runs the callable of an arrival of a Stretch where it lies, and destroys it if that does
  /// something. Returns what it has failed with, or null.
  FailurePtr run(Arrival& arrival) noexcept;
  /// Operations are just run: nothing is traced, checked or cancelled.
  bool just_runs() const { return modes_.load(std::memory_order_relaxed) == 0; }
  /// `op` is what a worker has run last of a stretch.
  void settle_last(Operation& op, FailurePtr failure) noexcept;
  /// After execute(): settles how `op` has ended, and ends it if it is of a stream, unless its
  /// Completion or its issuer has to. It is gone then, and what becomes ready is added to `ready`.
  /// True if the caller has to end it.
  bool after_callable(Operation& op, ReadyList& ready);
  /// Runs operation `i` of a run, or skips it, and says how it has ended. Does not throw.
  Outcome execute_recorded(GraphRun& run, std::uint32_t i);
  /// After GraphRun::end(): ends the uses that have ended with operation `i`. True if the run has
  /// ended with them.
  bool end_recorded(GraphRun& run, std::uint32_t i, GraphRun::Step& step);
  /// Uses of a run whose only worker goes on with it have ended.
  void post_recorded(const GraphRun& run, Mailbox& mailbox, ReadyList& uses);
  /// Gives every operation of `ready` to its queue.
  void dispatch(ReadyList& ready);
  static bool is_for_worker(const Operation& op) {
    return op.kind() == Submission::Kind::kUse || (op.queue != nullptr && !op.queue->is_stream());
  }
  /// True if to dispatch it runs nothing of the user's on the calling thread.
  static bool runs_elsewhere(const Operation& op) {
    return op.kind() == Submission::Kind::kUse ||
           (op.queue != nullptr && !op.queue->runs_callables());
  }
  /// Gives those that workers run to their queues, and leaves the others in `ready`. Runs nothing.
  /// Without memory for that it ends the process, as dispatch() does where nobody could go on.
  void dispatch_to_workers(ReadyList& ready) noexcept;
  /// Takes note of what workers have posted.
  void collect();
  /// The same, and of all pushes.
  void take_in();
  /// The process ends, and what is left is not called any more.
  bool has_halted() const { return is_on(kHalted); }
  /// Starts the watchdog, when there are threads to watch.
  void watch() { watchdog_.start(); }

 private:
  struct OpCompletion;  // the AsyncState of this engine
  struct Ready;

  /// What is not so by default; a worker looks at all of it at once.
  enum Mode : std::uint8_t {
    kTracing = 1U << 0U,
    kCancelling = 1U << 1U,
    kHalted = 1U << 2U,        ///< no further operation is started
    kChecking = 1U << 3U,      ///< what operations touch
    kHasCancelled = 1U << 4U,  ///< because of kCancelling
    kClosed = 1U << 5U,        ///< there are no workers any more
  };

  /// The callable of `op` is just called.
  bool is_plain(const Operation& op) const { return op.is_plain() && just_runs(); }
  bool is_on(Mode mode) const { return (modes_.load(std::memory_order_relaxed) & mode) != 0; }

  Route route(const Submission& submission);
  template <bool kMayLeave>
  std::uint64_t push_slowly(Task& task, VarList reads, VarList mutates, const PushOptions& options);
  /// submit(); if it `may_leave` the submission, and that just runs, it is left to workers.
  std::uint64_t submit(Submission& submission, bool may_leave);
  /// Intake::try_leave(), for the workers of `pool`.
  Intake::Left try_leave(const PlainPush& push, std::string_view call, WorkerPool& pool,
                         std::unique_ptr<ManyVariables>* many = nullptr);
  static void prepare_to_leave(Block& block);
  static void begin_with(const Block& block);
  /// The calling thread ends the process, and nothing more will end.
  bool must_not_wait() const noexcept;
  /// Throws EngineStopped, naming `call`, after shutdown().
  void wait_for_room(std::string_view call);
  /// The thread has begun to wait; null: for everything. Without memory that leaves no trace.
  void trace_wait(VarState* var, bool reads_too) noexcept;
  /// dispatch() of one, and of those at the front of `ready` that go the same way.
  bool try_hand_on(Operation& op, ReadyList& ready);
  /// dispatch() from `first` on, whose callable runs here.
  void dispatch_here(Operation& first, ReadyList& ready);
  void run_here(Operation& op, ReadyList& ready);
  /// Grants the use `first`, and those at the front of `ready` of the same run.
  static void grant_with_next(Operation& first, ReadyList& ready);
  /// Gives `first`, and those at the front of `ready` that are for the same queue, to that.
  void submit_with_next(Operation& first, ReadyList& ready) const;
  /// Until the waiter, which waits for `var`, or null: everything, is woken.
  void wait(Waiter& waiter, VarState* var, std::string_view call);
  /// Runs operations that it waits for as long as it can.
  void help(Guest& guest, const Waiter& waiter, VarState* var);
  Waiter::State block(Waiter& waiter, VarState* var);
  void execute_plain(Operation& op);
  /// execute(), where there is more to do than to call it.
  void execute_unusual(Operation& op, RunContext& context, OperationScope& scope);
  void call_async(Operation& op, RunContext& context, OperationScope& scope);
  /// Null if the operations of `run` must be pushed one by one.
  std::unique_ptr<GraphRun> graph_of(ProgramRun& run) const;
  Outcome execute_unusual(GraphRun& run, std::uint32_t i, RunContext& context) noexcept;
  Outcome fail(GraphRun& run, std::uint32_t i, std::exception_ptr error) noexcept;
  /// Does not return if no further operation is to be started.
  void halt_if_asked() const;
  /// True if `op` is to be skipped.
  bool must_skip(Operation& op, RunContext& context);
  /// Decides how `op` has ended and what it leaves in its variables.
  void settle(Operation& op) noexcept;
  void settle_unusual(Operation& op) noexcept;
  /// Settles and ends `op`, which is gone then.
  void finish(Operation& op, ReadyList& ready);
  /// Without memory it leaves none.
  void keep_record(const Operation& op) noexcept;
  Ledger::Ended ended();
  static std::size_t pending(const Ledger::Ended& now) {
    return now.places + (now.dropped != now.destroyed ? 1 : 0);
  }
  std::size_t look_for_ends();
  void destroy_dropped(base::Clock::time_point deadline);
  Watchdog::Progress progress();
  std::string describe_pending();

  mutable Ledger ledger_;
  ErrorLog errors_;
  TraceLog trace_;
  base::Atomic<std::uint8_t> modes_;  ///< of Mode
  base::Atomic<bool> abandoned_{false};

  StallReport stall_report_;  ///< of the watchdog's thread
  Watchdog watchdog_;

  Router router_;  ///< last: its threads use everything above, and the ledger's uses it
};

/// What a call on the ledger makes ready; dispatched when the call is over.
struct ThreadedEngine::Ready {
  explicit Ready(const ThreadedEngine& owner) : engine(const_cast<ThreadedEngine&>(owner)) {}
  ~Ready() { engine.dispatch(list); }
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;

  ThreadedEngine& engine;
  ReadyList list;
};

}  // namespace heddle::detail
