#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/sync.h"
#include "engine/plain_engine.h"

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
///  - What a push needs memory for is done before its operations are taken, so from then on they
///    only move from list to list.
class NaiveEngine final : public PlainEngine {
 public:
  explicit NaiveEngine(const EngineOptions& options)
      : PlainEngine(options), watchdog_(options.watchdog) {}

  bool try_admit() override;
  void cancel_admission() override {}
  std::uint64_t submit(Submission& submission) override;
  Route inspect(const Submission& submission) override;
  std::uint64_t submit_block(ProgramRun& run) override;
  void wait_for_var(VarState* var, bool reads_too) override;
  void wait_for_all() override;
  std::uint64_t version(VarState* var) const override;
  std::string describe_writer(VarState* var) const override;
  ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) override;
  bool close() override {
    while (forget_errors()) {  // what these push in the end may fail, too
    }
    return true;
  }
  void finish_at_exit(std::chrono::milliseconds) override {}

 private:
  using Operations = std::list<PlainOperation>;
  struct Completed;  // the AsyncState of this engine

  /// An asynchronous operation whose callable has returned and whose completion has not come.
  struct Incomplete {
    const PlainOperation& operation;
    Operations held_back;  ///< by it, or by one of these
    Incomplete* outer;     ///< one that is older; null: there is none
  };
  /// What has ended and may be the last use of an exception. It is destroyed without the turn, as
  /// an exception may do anything then.
  struct Ended {
    Operations operations;
    DroppedFailures dropped;
  };

  bool inside() const;
  /// Throws EngineStopped, naming `call`, if there are no pushes from outside any more.
  void check_goes_on(std::string_view call) const;
  /// Takes the operation's place behind the deferred ones.
  void defer(const Submission& submission);
  void run_deferred(Ended& ended) noexcept;
  /// Runs the first of the deferred operations.
  void run_next() noexcept;
  /// Runs the callable, unless `skip`, destroys it and waits for its completion. What was thrown.
  std::exception_ptr call_and_wait(PlainOperation& operation, bool skip) noexcept;
  /// Runs the deferred operations that need not wait for `pending` to complete.
  void run_independent(const PlainOperation& pending) noexcept;
  /// True if `operation` has to wait for one that is incomplete, or for what that holds back.
  bool is_held_back(const PlainOperation& operation) const;
  static bool conflict(const PlainOperation& a, const PlainOperation& b);
  std::unique_lock<base::Mutex> take_turn() const;

  const std::chrono::milliseconds watchdog_;
  mutable base::Mutex turn_;
  base::Atomic<bool> stopped_{false};
  const PlainOperation* running_ = nullptr;  ///< whose callable runs
  Operations deferred_;
  Incomplete* incomplete_ = nullptr;  ///< the newest one
  Operations ended_operations_;       ///< for Ended
};

}  // namespace heddle::detail
