#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/sync.h"
#include "engine/engine_core.h"
#include "engine/failure.h"
#include "engine/trace_log.h"

namespace heddle::detail {

struct AsyncState;

/// A Submission that owns what it refers to, with its place in the program.
struct PlainOperation {
  Submission::Kind kind = Submission::Kind::kRun;
  Task task;
  AsyncTask async_task;
  /// Each variable once; one that is mutated is not among the reads.
  std::vector<Var> reads;
  std::vector<Var> mutates;
  PushOptions options;  ///< without what it refers to
  std::string name;
  std::uint64_t sequence = 0;

  RunContext context;        ///< of the running callable; kept until the operation ends
  std::exception_ptr error;  ///< that it has ended with

  // If traced; 0: not reached.
  std::int64_t pushed_at = 0;
  std::int64_t ready_at = 0;
  std::int64_t started_at = 0;
  ModelCost cost;
};

/// What the engines without threads (kNaive and kExplore) share: operations as they were pushed,
/// how a callable is run, and the books about how operations ended.
///
/// What needs memory is done before an operation is taken: a push that throws pushes nothing, and
/// what is taken ends whatever happens.
///
/// Thread safety: the public members may be called from any thread. Of the protected ones call()
/// belongs to the thread that runs the operation and is called without the derived engine's lock,
/// the others are called with it.
class PlainEngine : public EngineCore {
 public:
  std::uint64_t push(Task& task, VarList reads, VarList mutates,
                     const PushOptions& options) override {
    Submission submission = submission_of(task, reads, mutates, options);
    return submit(submission);
  }
  bool stop_requested() const override { return cancelling_.load(); }
  std::vector<OpRecord> trace() const override { return trace_.records(); }
  void report(FailurePtr failure) noexcept override { errors_.add(std::move(failure)); }

 protected:
  /// How running a callable ended.
  struct Called {
    std::exception_ptr error;  ///< that fails the operation, whatever its completion says
    /// The completion was called or will be: only then the operation ends.
    bool awaits_completion = false;
  };

  explicit PlainEngine(const EngineOptions& options);

  /// Throws std::invalid_argument if a variable is not usable.
  void check(const Submission& submission) const;
  /// The same for a run of a recording.
  void check(const ProgramRun& run) const;
  /// An operation as `submission` says, whose variables check() has looked at. It still lacks its
  /// callable, which stays where it is, and its number: see take(). Throws std::bad_alloc.
  PlainOperation describe(const Submission& submission);
  /// What describe() has made of `submission` gets the callable and the next sequence number.
  void take(PlainOperation& described, const Submission& submission) noexcept;
  std::uint64_t last_sequence() const { return last_sequence_; }
  /// What was taken after number `last` is not kept.
  void forget_after(std::uint64_t last) { last_sequence_ = last; }

  /// Why `operation`, whose turn it is, must not run: poison that it meets, or cancellation. Null:
  /// it runs.
  FailurePtr skip_reason(const PlainOperation& operation) const;

  /// Runs the callable unless `skip`, then destroys it. `completion`: of an operation of
  /// push_async that is not skipped.
  Called call(PlainOperation& operation, bool skip, const std::shared_ptr<AsyncState>& completion);

  /// Ends `operation`: gives its variables their version and poison, counts and records it.
  /// `skipped` as skip_reason() gave it; `error` else tells whether it failed. Unless it has
  /// completed, `operation` may be the last use of an exception.
  Outcome conclude(const PlainOperation& operation, FailurePtr skipped,
                   const std::exception_ptr& error) noexcept;

  /// Exceptions that were lifted from variables. They may do anything when they are destroyed, as
  /// to push: for the caller to destroy without the lock.
  void take_dropped(DroppedFailures& to) noexcept { dropped_.swap(to); }

  /// Throws what raises a wait for a variable with this poison, if there is any.
  void raise_poison(const FailurePtr& poison, bool reads_too);
  /// Throws what a wait for everything throws; `shutdown_cancelled` as the caller found it.
  void raise_all(bool shutdown_cancelled);

  bool tracing() const { return trace_.enabled(); }
  /// The calling thread begins to wait; null: for everything.
  void trace_wait(VarState* var, bool reads_too) {
    if (tracing()) trace_.add(ModelWait::of(var, reads_too, last_sequence_));
  }

  base::Atomic<bool> cancelling_{false};
  ShutdownReport ended_;
  /// Forgets the errors that nobody was told of. False if there is none. Without locks of its own.
  bool forget_errors() noexcept { return errors_.forget(); }

  bool shutdown_cancelled_ = false;  ///< kCancel has skipped operations

 private:
  void keep_record(const PlainOperation& operation, Outcome outcome) noexcept;

  std::uint64_t last_sequence_ = 0;
  std::uint64_t described_ = 0;  ///< how many operations: VarState::last_push
  DroppedFailures dropped_;
  ErrorLog errors_;
  TraceLog trace_;
};

}  // namespace heddle::detail
