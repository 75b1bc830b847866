#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/prefetch.h"
#include "engine/base/sync.h"
#include "engine/engine_core.h"
#include "engine/fineness.h"
#include "engine/recorded_graph.h"
#include "engine/recorded_op.h"

namespace heddle::detail {

class WorkerPool;

/// A host action of a script that each run repeats, in program order: takes a reservation, or only
/// changes something, as seeding does. Called by several threads at a time.
using RunStep = UniqueFunction<Reserved()>;

/// What a Recording refers to: captured pushes, and what keeps their callables alive.
///
/// Thread safety: built by one thread; then nothing changes but the number of holders, and several
/// threads may push runs of it.
///
/// Invariants:
///  - An operation of one run that has a callable ends, or on a compute stream is issued, before
///    the callable of the same one of the next run is called; so none is called by two runs at a
///    time (what it has handed to a device may still go on): it mutates a variable; or it reads
///    one that an operation of the program mutates, and that one's next run stands between the
///    two; or else it is given a hidden variable to mutate, which nothing else names. All of that
///    covers push_async, too, as an operation gives its variables to the next one only when its
///    callable has returned and its completion has come. The hidden variable carries no poison on,
///    as its only operation `overwrites` it.
///  - The program lives while holders_ is not 0: it counts the handle, and for every run the
///    operations that `hold`. These are those of which no later one with a callable needs
///    something: when their callables have been called, or skipped, all others have been before. A
///    holder is given back when its operation's callable is destroyed, so the last one destroys the
///    captured callables inside an operation, or with the handle.
class RecordedProgram {
 public:
  explicit RecordedProgram(EngineCore& engine) : engine_(engine.shared_from_this()) {}
  RecordedProgram(const RecordedProgram&) = delete;
  RecordedProgram& operator=(const RecordedProgram&) = delete;

  // While it is built.
  /// Names the variables of `op`, each once, and appends it.
  void add(RecordedOp&& op, RecordedCall&& call, const Submission& submission);
  /// Returns its index.
  std::size_t add_step(RunStep step);
  /// Nothing more will be added.
  void finish();

  /// As Recording::run().
  std::uint64_t run();
  std::size_t size() const { return ops_.size(); }

  const RecordedOp& op(std::size_t i) const { return ops_[i]; }
  /// Whether a run that begins now may be captured. The first is not: what it is the first to use
  /// is loaded and set up meanwhile.
  bool may_capture() const { return was_run_.load(std::memory_order_relaxed); }
  /// Calls the callable of operation i, which is not asynchronous.
  void call(std::size_t i, RunContext& context, const std::vector<Reserved>& reserved,
            bool is_simple) {
    auto& function = calls_[i].function;
    if (is_simple || ops_[i].step == RecordedOp::kNoStep) {
      std::get<Task>(function)(context);
    } else {
      std::get<ReservingTask>(function)(context, reserved[ops_[i].step]);
    }
  }

  /// Operation i will be called soon.
  void fetch_ahead(std::size_t i, bool is_simple) const {
    base::prefetch_to_read(&calls_[i]);
    if (is_simple) return;
    base::prefetch_to_read(&ops_[i]);
    base::prefetch_to_read(&ops_[i].options.name);
  }

  /// Of its operations, for runs in a pool of several workers.
  Fineness& fineness() { return fineness_; }

  void hold(std::size_t count) { holders_.fetch_add(count, std::memory_order_relaxed); }
  /// Destroys the program with the last holder. Does not throw.
  void release(std::size_t count) noexcept;

 private:
  friend class ProgramRun;

  ~RecordedProgram();
  /// What it mutates, then what it reads.
  std::span<const Var> variables_of(const RecordedOp& op) const {
    return std::span(variables_).subspan(op.first_variable, op.mutates + op.reads);
  }
  void add_hidden_variables();
  void choose_holders();
  bool may_have_graph() const;
  void find_pools();
  void report(const RecordedOp& op, std::exception_ptr error) noexcept;

  const std::shared_ptr<EngineCore> engine_;  ///< keeps its memory, not its threads
  std::vector<RecordedOp> ops_;
  std::vector<RecordedCall> calls_;  ///< of the operations
  std::vector<Var> variables_;       ///< of all operations, one after the other
  std::vector<VarState*> distinct_;  ///< the same, each once
  std::vector<RunStep> steps_;
  std::size_t holding_ = 0;  ///< how many operations hold
  /// If all operations are plain ones of one queue of the CPU and this is worth it; else null.
  std::unique_ptr<const RecordedGraph> graph_;
  /// Whose workers take in its operations, if all are such and of one priority; else none.
  std::vector<WorkerPool*> pools_;
  bool has_many_ = false;  ///< then: one of them names many variables
  base::Atomic<bool> was_run_{false};
  base::Atomic<std::size_t> holders_{1};
  Fineness fineness_;
};

struct DropProgram {
  void operator()(RecordedProgram* program) const { program->release(1); }
};
using ProgramHandle = std::unique_ptr<RecordedProgram, DropProgram>;

/// One run of a program on its way into the engine.
///
/// Thread safety: belongs to the thread that pushes the run.
class ProgramRun {
 public:
  /// Takes the reservations of the run.
  explicit ProgramRun(RecordedProgram& program);
  ~ProgramRun();
  ProgramRun(const ProgramRun&) = delete;
  ProgramRun& operator=(const ProgramRun&) = delete;

  std::size_t size() const { return program_.ops_.size(); }
  /// Operation i without its callable.
  Submission arguments(std::size_t i) const {
    return {.reads = reads(i),
            .mutates = mutates(i),
            .options = &op(i).options,
            .priority = op(i).priority,
            .kind = op(i).kind,
            .recorded = captures_ ? op(i).place : device::RecordedPlace{}};
  }
  /// Variable `i` of all operations.
  VarList variable(std::size_t i) const {
    return std::span<const Var>(program_.variables_).subspan(i, 1);
  }
  RecordedProgram& program() const { return program_; }
  /// Null: the operations must be pushed one by one.
  const RecordedGraph* graph() const { return program_.graph_.get(); }
  /// All may be left to the workers of these as plain pushes, made outside of operations; none:
  /// not.
  std::span<WorkerPool* const> pools() const { return program_.pools_; }
  bool has_many() const { return program_.has_many_; }
  const std::vector<Reserved>& reserved() const { return reserved_; }
  /// Every variable, once.
  std::span<VarState* const> variables() const { return program_.distinct_; }

  const RecordedOp& op(std::size_t i) const { return program_.ops_[i]; }
  VarList mutates(std::size_t i) const { return program_.variables_of(op(i)).first(op(i).mutates); }
  VarList reads(std::size_t i) const { return program_.variables_of(op(i)).subspan(op(i).mutates); }
  /// What calls operation i, of a run that has pools(); each one once.
  Task task(std::size_t i) { return replay(i); }
  /// Returns use(submission) for operation i; each one once, and `use` moves its callable away.
  template <class Use>
  decltype(auto) submit(std::size_t i, Use&& use) {
    Submission submission = arguments(i);
    Task task;
    AsyncTask async_task;
    if (op(i).is_async) {
      async_task = replay_async(i);
      submission.async_task = &async_task;
    } else if (op(i).kind == Submission::Kind::kRun) {
      task = replay(i);
      submission.task = &task;
    }
    return use(submission);
  }

 private:
  class Hold;

  Task replay(std::size_t i);
  AsyncTask replay_async(std::size_t i);
  Hold take_hold();

  RecordedProgram& program_;
  const bool captures_;
  std::vector<Reserved> reserved_;  ///< one per step
  std::size_t holds_left_;          ///< taken for the run and not yet with an operation
};

}  // namespace heddle::detail
