#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/cancel.h"
#include "heddle/device.h"
#include "heddle/error.h"
#include "heddle/operation.h"
#include "heddle/options.h"
#include "heddle/recording.h"
#include "heddle/trace.h"
#include "heddle/unique_function.h"
#include "heddle/var.h"

namespace heddle {

class Engine;

namespace detail {
class EngineCore;
EngineCore& core_of(const Engine& engine);
}  // namespace detail

enum class ShutdownMode : std::uint8_t {
  kDrain,   ///< run everything that was pushed
  kCancel,  ///< skip what has not started, but for deletions; it poisons what it mutates
};

/// How the operations of an engine ended, over its whole life, clear_error() and delete_variable()
/// included. Each is counted once; what was abandoned, in a later report, as what it became.
struct ShutdownReport {
  std::uint64_t completed = 0;  ///< ran and succeeded
  std::uint64_t failed = 0;     ///< threw, or were skipped because of a failure
  std::uint64_t cancelled = 0;  ///< skipped for kCancel or a CancelSource, also by poison
  std::uint64_t abandoned = 0;  ///< still pending at the deadline
};

/// Runs operations in parallel such that the result is that of the serial program.
///
/// Thread safety: every member may be called from any thread.
///
/// All pushes stand in one total order, the returned sequence number, which agrees with every
/// happens-before between pushes. Two operations conflict when one mutates a variable that the
/// other reads or mutates; conflicting operations run in sequence order, others may overlap.
///
/// What an operation throws poisons the variables that it mutates: operations that read or mutate
/// those are skipped and pass the same error on, and waiting for such a variable throws it. So does
/// an operation that is cancelled before it starts: by shutdown(), or in a group (CancelSource). Of
/// several errors that meet, the one of the operation with the lowest sequence number goes on. What
/// an operation throws that mutates nothing only wait_for_all() tells.
///
/// An exception that no variable carries and nothing will report any more is destroyed, in engines
/// with threads, on a thread for that, one after the other: there it may push and wait, but not
/// shut the engine down. Who has caught it, or drops the last handle of a variable with it, may
/// destroy it instead; a second one that a callable throws, from its destructor, goes at once. Its
/// what() must not use the engine. No operation may end its thread, as by pthread_exit().
///
/// An empty, deleted or foreign variable and a null callable are std::invalid_argument; a push
/// after shutdown() from outside of operations is EngineStopped; any use but the destructor in a
/// child of fork(), of an engine that was made before it, is ForkedChild.
class Engine {
 public:
  /// The process's default engine, made on first use from configure() and the environment. Never
  /// destroyed; work in flight at exit gets up to 2 s to end and is not asked to stop, and what has
  /// not begun by then, and errors that no wait has told, are dropped.
  static Engine& get();

  /// An option out of its range is std::invalid_argument.
  explicit Engine(const EngineOptions& options = {});
  /// Waits for every pushed operation, and until exceptions that are not needed any more are
  /// destroyed, so what these use must be declared before the engine; after a shutdown() that had
  /// to abandon operations it does not, and what those use must outlive them.
  /// Errors that no wait has told are dropped. Inside an operation of this engine, as where that
  /// holds the last pointer to it, it would wait for itself: says so and aborts.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Var new_variable(std::string_view name = {});

  /// The variable's last operation: `last` runs once all of its operations have ended, also if it
  /// is poisoned or cancelled, where `options` say, of which priority and group do not count. If
  /// these say `brief`, any thread may run it inside of a call of the engine, this call included:
  /// hold no lock that it takes. Never blocks. The handle is stale when the call returns.
  void delete_variable(Var var, UniqueFunction<void()> last = {}, const PushOptions& options = {});

  /// Queues `fn`, callable as fn(RunContext&) or fn(), and returns its sequence number. Blocks
  /// while max_pending operations are pending, except inside an operation. A variable may be
  /// named several times; mutating wins over reading, also where PushOptions::overwrites says that
  /// what it held is not looked at. `fn` is destroyed before the operation ends, and what its
  /// destructor throws counts as thrown by it; where the push itself throws it must not.
  template <class Fn>
  std::uint64_t push(Fn&& fn, VarList reads, VarList mutates, const PushOptions& options = {}) {
    return push_task(detail::make_task(std::forward<Fn>(fn)), reads, mutates, options);
  }

  /// As push, but the operation ends when its Completion is done or fails. `fn` is callable as
  /// fn(RunContext&, Completion). What it throws before that fails the operation; after that only
  /// wait_for_all() throws it.
  template <class Fn>
  std::uint64_t push_async(Fn&& fn, VarList reads, VarList mutates,
                           const PushOptions& options = {}) {
    static_assert(std::is_constructible_v<detail::AsyncTask, Fn>,
                  "an asynchronous operation is callable as fn(RunContext&, Completion)");
    return push_async_task(detail::AsyncTask(std::forward<Fn>(fn)), reads, mutates, options);
  }

  /// As push, but returns nullopt, with `fn` not moved from, where push would block. On an engine
  /// without threads (kExplore) that runs an operation first, so that who tries again gets on.
  template <class Fn>
  std::optional<std::uint64_t> try_push(Fn&& fn, VarList reads, VarList mutates,
                                        const PushOptions& options = {}) {
    if (detail::is_null_callable<std::decay_t<Fn>>(fn)) detail::refuse_null("Engine::try_push");
    Admission admission(*this);
    if (!admission.granted()) {
      check_push(reads, mutates, options);
      return std::nullopt;
    }
    return push_admitted(admission, detail::make_task(std::forward<Fn>(fn)), reads, mutates,
                         options);
  }

  /// Blocks until every write of `var` pushed so far is done; their effects are then visible.
  /// Throws the OpError that poisons `var`, Cancelled if a CancelSource and EngineStopped if
  /// shutdown() kept it from being written, and ReentrantWait inside an operation of any engine.
  ///
  /// In this and the other waits the calling thread may run operations that it waits for, in the
  /// place of a worker of the CPU's compute lane: these see its thread_local variables and its
  /// signal mask. It never returns in the middle of one, not even because of shutdown().
  void wait_for_var(const Var& var);

  /// As wait_for_var, and every read of `var` pushed so far has ended too. What a reader has thrown
  /// is not thrown here: it has poisoned what that mutates.
  void wait_for_var_unused(const Var& var);

  /// Blocks until all operations pushed so far, and those that they push, have ended. Throws an
  /// AggregateError of the errors not reported by an earlier wait; what a CancelSource cancelled is
  /// no error. Nor is that an operation was skipped for an error told before: that it returns does
  /// not mean that all have run, as poison stays until it is overwritten or cleared. EngineStopped
  /// if shutdown() has cancelled operations, or has left some that have not ended.
  void wait_for_all();

  /// Number of ended operations that mutate `var`, also of those that failed or were skipped;
  /// clear_error() does not count.
  std::uint64_t version(const Var& var) const;

  /// Lifts the poison of `var`, in program order, as an operation of its own that mutates it. What
  /// the variable stands for is unspecified until it is written again; wait_for_all() still tells
  /// the error.
  void clear_error(const Var& var);

  /// Calls `fn` on this thread and captures the operations that it pushes to this engine, by push,
  /// push_async and clear_error, instead of running them. Their pushes return 0 and check their
  /// arguments as ever. Waits, try_push, delete_variable, shutdown, record and Recording::run on
  /// this engine throw Error there. What other threads and running operations push is not captured.
  /// If `fn` throws, nothing is recorded and the exception is thrown here.
  Recording record(UniqueFunction<void()> fn);

  /// Ends the engine: no further pushes from outside operations. Returns `deadline` from now at
  /// the latest, at once if that is not above 0, then with operations abandoned: these go on (on
  /// kExplore only in another shutdown), and to wait for them throws EngineStopped, as for what is
  /// cancelled. Blocks. ReentrantWait inside an operation.
  ShutdownReport shutdown(ShutdownMode mode = ShutdownMode::kDrain,
                          std::chrono::milliseconds deadline = std::chrono::seconds(60));

  /// The options in effect: what was left to a default is resolved, in the default engine by the
  /// environment.
  const EngineOptions& options() const;

  /// The operations that have ended so far, in the order in which the engine took note of that, if
  /// EngineOptions::trace.
  std::vector<OpRecord> trace() const;

 private:
  /// A place among the pending operations, given back unless push_admitted uses it.
  class Admission {
   public:
    explicit Admission(Engine& engine);
    ~Admission();
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;
    bool granted() const { return granted_; }

   private:
    friend class Engine;
    Engine& engine_;
    bool granted_;
  };

  std::uint64_t push_task(detail::Task&& task, VarList reads, VarList mutates,
                          const PushOptions& options);
  std::uint64_t push_async_task(detail::AsyncTask&& task, VarList reads, VarList mutates,
                                const PushOptions& options);
  void check_push(VarList reads, VarList mutates, const PushOptions& options) const;
  std::uint64_t push_admitted(Admission& admission, detail::Task&& task, VarList reads,
                              VarList mutates, const PushOptions& options);

  friend detail::EngineCore& detail::core_of(const Engine& engine);
  /// Throws ForkedChild, naming `call`.
  detail::EngineCore& core(const char* call) const;

  std::shared_ptr<detail::EngineCore> core_;
};

}  // namespace heddle
