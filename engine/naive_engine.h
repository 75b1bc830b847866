#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/trace_log.h"

namespace heddle::detail {

/// Runs each operation inside push, on the pushing thread: the serial program itself, and so the
/// oracle that the parallel engines are compared with. It shares no dependency tracking with them.
///
/// Thread safety: every member may be called from any thread; threads take turns, an operation at
/// a time.
///
/// Invariants:
///  - Who holds turn_ runs operations; sequence numbers are given out by who holds it.
///  - An operation pushed from inside another waits in deferred_ until the outer callable has
///    returned, or, where they conflict, the outer operation has completed. deferred_ is empty
///    while nobody holds turn_.
class NaiveEngine final : public EngineCore {
 public:
  explicit NaiveEngine(const EngineOptions& options);

  bool try_admit() override;
  void cancel_admission() override {}
  std::uint64_t submit(Submission&& submission) override;
  void wait_for_var(VarState* var, bool reads_too) override;
  void wait_for_all() override;
  std::uint64_t version(VarState* var) const override;
  std::string describe_writer(VarState* var) const override;
  ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) override;
  bool stop_requested() const override { return cancelling_.load(); }
  std::vector<OpRecord> trace() const override { return trace_.records(); }
  void report(OpError error) override;
  bool close() override { return true; }
  void finish_at_exit(std::chrono::milliseconds) override {}

 private:
  /// A Submission that owns what it refers to.
  struct Operation {
    Submission::Kind kind = Submission::Kind::kRun;
    Task task;
    AsyncTask async_task;
    std::vector<Var> reads;
    std::vector<Var> mutates;
    PushOptions options;
    std::string name;
    std::uint64_t sequence = 0;
  };
  struct Completed;  // the AsyncState of this engine

  bool inside() const;
  Operation adopt(const Submission& submission);
  void run(Operation operation);
  /// Runs the callable, unless `skip`, destroys it and waits for its completion. What was thrown.
  std::exception_ptr call(Operation& operation, bool skip);
  std::exception_ptr call_async(Operation& operation, RunContext& context);
  void run_deferred();
  /// Runs the deferred operations that need not wait for `pending` to complete.
  void run_independent(const Operation& pending);
  static bool conflict(const Operation& a, const Operation& b);
  FailurePtr inherited(const Operation& operation) const;
  void end(const Operation& operation, const FailurePtr& failure);
  std::unique_lock<std::mutex> take_turn() const;

  mutable std::mutex turn_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> cancelling_{false};
  std::uint64_t last_sequence_ = 0;
  std::deque<Operation> deferred_;
  std::vector<const Operation*> ahead_;  ///< not completed, or held back by one that is not
  ShutdownReport ended_;
  ErrorLog errors_;
  TraceLog trace_;
};

}  // namespace heddle::detail
