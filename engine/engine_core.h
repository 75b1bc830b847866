#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/engine.h"

#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/failure.h"
#include "engine/fork.h"
#include "engine/var_state.h"

namespace heddle::detail {

class LaneQueue;
class ProgramRun;

/// A push with its callable in one of its two forms. Refers to what its caller holds.
struct Submission {
  enum class Kind : std::uint8_t {
    kRun,
    kDelete,  ///< mutates[0] is deleted; the task, if any, ignores poison and cancellation
    kClear,   ///< lifts the poison of mutates[0]; there is no task
    kUse,     ///< of a variable, by the run of a recording (see RecordedGraph)
  };
  enum class Admission : std::uint8_t {
    kBlock,     ///< to wait for a place among the pending operations
    kForced,    ///< takes one above the limit
    kAdmitted,  ///< has one
  };

  Task* task = nullptr;  ///< moved from once the submission has its place in the program
  AsyncTask* async_task = nullptr;
  VarList reads = {};
  VarList mutates = {};
  const PushOptions* options = nullptr;
  int priority = 0;
  Kind kind = Kind::kRun;
  /// Of kDelete: the task gives a block back to a device that frees early (see Backend).
  bool frees_early = false;
  Admission admission = Admission::kBlock;
  std::int64_t pushed_at = 0;  ///< if traced
  device::RecordedPlace recorded = {};

  bool is_tried = false;  ///< by try_push

  /// The call that it comes from, for messages.
  std::string_view call() const {
    if (kind == Kind::kDelete) return "Engine::delete_variable";
    if (is_tried) return "Engine::try_push";
    if (async_task != nullptr) return "Engine::push_async";
    return kind == Kind::kClear ? "Engine::clear_error" : "Engine::push";
  }
};

/// Of a push with these arguments.
inline Submission submission_of(Task& task, VarList reads, VarList mutates,
                                const PushOptions& options) {
  return {.task = &task,
          .reads = reads,
          .mutates = mutates,
          .options = &options,
          .priority = options.priority};
}

/// Throws std::invalid_argument unless all variables are live ones of `engine_id`. The caller holds
/// a lock that guards them.
inline void check_variables(const Submission& submission, std::uint64_t engine_id) {
  if (submission.kind != Submission::Kind::kRun) {
    return check_usable(submission.mutates[0], engine_id, submission.call());
  }
  check_usable(submission.mutates, submission.reads, engine_id, submission.call(),
               submission.options->name);
}

/// Where a submission goes; engines without threads leave it as it is.
struct Route {
  LaneQueue* queue = nullptr;
  std::uint16_t flags = 0;  ///< of the operation
  bool has_extras = false;  ///< the operation needs its OperationExtras
  bool may_leave = false;   ///< workers may take it in, if it is pushed outside of operations
};

/// The call that waits, for messages.
inline std::string_view wait_call(bool reads_too) {
  return reads_too ? "Engine::wait_for_var_unused" : "Engine::wait_for_var";
}

/// What an engine kind implements. Engine checks its arguments and the process and forwards here;
/// the contract of each member is that of its namesake in heddle/engine.h.
///
/// Thread safety: every member may be called from any thread. The object is shared with
/// completions that are still held: after close() it has no threads and only answers.
class EngineCore : public std::enable_shared_from_this<EngineCore> {
 public:
  explicit EngineCore(const EngineOptions& options);
  virtual ~EngineCore() = default;
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;

  /// Never reused in a process: a variable whose engine is gone cannot be taken for another's.
  std::uint64_t id() const { return id_; }
  ProcessMark process() const { return process_; }
  const EngineOptions& options() const { return options_; }

  Var new_variable(std::string_view name);

  /// Takes a place among the pending operations if there is one, as there always is inside an
  /// operation. Throws EngineStopped after shutdown.
  virtual bool try_admit() = 0;
  virtual void cancel_admission() = 0;
  /// As submit() for a push with these arguments, whose task is moved from.
  virtual std::uint64_t push(Task& task, VarList reads, VarList mutates,
                             const PushOptions& options) = 0;
  /// Takes the submission's place in the program. Throws EngineStopped after shutdown and
  /// std::invalid_argument if a variable is not usable, then with an admission given back.
  virtual std::uint64_t submit(Submission& submission) = 0;

  /// Throws what submit() would throw for the arguments of `submission`, which is to be recorded,
  /// and says where it will go.
  virtual Route inspect(const Submission& submission) = 0;
  /// As submit() for every operation of `run`, which is not empty, with one admission for all and
  /// sequence numbers that follow each other. Returns the first. Throws with nothing pushed.
  virtual std::uint64_t submit_block(ProgramRun& run) = 0;

  virtual void wait_for_var(VarState* var, bool reads_too) = 0;
  virtual void wait_for_all() = 0;
  virtual std::uint64_t version(VarState* var) const = 0;
  /// "variable 'x', to be written by 'name' #7", for messages.
  virtual std::string describe_writer(VarState* var) const = 0;
  virtual ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) = 0;
  virtual bool stop_requested() const = 0;
  virtual std::vector<OpRecord> trace() const = 0;

  /// Called inside an operation that lacks memory: calls `attempt` until it returns true, or no
  /// other operation seems to give any back before this one has ended. Returns what it returned
  /// last, and throws what it throws. Blocks.
  virtual bool retry_while_others_end(const std::function<bool()>& attempt) const {
    return attempt();
  }

  /// An error that no variable carries.
  virtual void report(FailurePtr failure) noexcept = 0;

  /// Waits for everything that was pushed and ends the threads. False, at once, if shutdown() had
  /// to abandon operations that still have not ended: the threads then live on.
  virtual bool close() = 0;
  /// At process exit: waits for what is pending, but no longer than `limit`; if that is not
  /// enough, no further operation is started.
  virtual void finish_at_exit(std::chrono::milliseconds limit) = 0;

  /// The Engine is gone, and this object is there for completions only.
  bool is_retired() const { return retired_.load(); }
  void retire() { retired_.store(true); }

  /// A new handle.
  static Var handle(VarState* state);

 private:
  base::Atomic<bool> retired_{false};
  const std::uint64_t id_;
  const ProcessMark process_;
  const EngineOptions options_;
};

/// Throws ForkedChild.
EngineCore& core_of(const Engine& engine);

/// As Engine::delete_variable() for the variable of a block on `device`, which `give_back` returns
/// to it: called by any thread, once all work on the block is done, or issued if that is enough for
/// the device.
void push_free(Engine& engine, Var var, Device device, UniqueFunction<void()> give_back);

}  // namespace heddle::detail
