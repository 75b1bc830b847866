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

  RunContext context;  ///< of the running callable; kept until the operation ends

  // If traced; 0: not reached.
  std::int64_t pushed_at = 0;
  std::int64_t ready_at = 0;
  std::int64_t started_at = 0;
  ModelCost cost;
};

/// What the engines without threads (kNaive and kExplore) share: operations as they were pushed,
/// how a callable is run, and the books about how operations ended.
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
  /// Takes the next sequence number. Throws std::invalid_argument, with `submission` as it was,
  /// if a variable is not usable.
  PlainOperation adopt(const Submission& submission);
  /// adopt() for all operations of a run, or for none.
  std::vector<PlainOperation> adopt_block(ProgramRun& run);
  std::uint64_t last_sequence() const { return last_sequence_; }
  /// What was adopted from number `first` on is not kept.
  void disown_from(std::uint64_t first) { last_sequence_ = first - 1; }

  /// Why `operation`, whose turn it is, must not run: poison that it meets, or cancellation. Null:
  /// it runs.
  FailurePtr skip_reason(const PlainOperation& operation) const;

  /// Runs the callable unless `skip`, then destroys it. `completion`: of an operation of
  /// push_async that is not skipped.
  Called call(PlainOperation& operation, bool skip, const std::shared_ptr<AsyncState>& completion);

  /// Ends `operation`: gives its variables their version and poison, counts and records it.
  /// `skipped` as skip_reason() gave it; `error` else tells whether it failed.
  void conclude(const PlainOperation& operation, FailurePtr skipped,
                const std::exception_ptr& error);

  /// Poison that may have been the last use of an exception, which may do anything when it is
  /// destroyed, as to push: for the caller to destroy without the lock.
  std::vector<FailurePtr> take_dropped() { return std::exchange(dropped_, {}); }

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
  void keep_record(const PlainOperation& operation, Outcome outcome);
  void keep_beyond_lock(FailurePtr poison) {
    if (poison != nullptr) dropped_.push_back(std::move(poison));
  }

  std::uint64_t last_sequence_ = 0;
  std::vector<FailurePtr> dropped_;
  ErrorLog errors_;
  TraceLog trace_;
};

}  // namespace heddle::detail
