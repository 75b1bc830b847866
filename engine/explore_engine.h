#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/sync.h"
#include "engine/explore_schedule.h"
#include "engine/plain_engine.h"

namespace heddle::detail {

class OperationScope;

/// Runs operations one after the other in an order that the seed chooses, to find programs whose
/// result depends on the order of operations that do not conflict, and engines that break the order
/// of those that do.
///
/// It has no threads. push() only enqueues. Whoever waits drives the schedule: it runs, on its own
/// thread, one ready operation after the other, each chosen by ExploreSchedule, until what it waits
/// for has come. So do a push that finds max_pending operations pending, shutdown(), the destructor
/// and the process's exit; a try_push that finds no place runs one operation, so that who tries
/// again gets on, and refuses. A wait for a variable also runs operations that have nothing to do
/// with it, as nobody else would: that they come before it is one of the schedules. A driver that
/// finds nothing ready sleeps until a completion, or another driver, makes something ready, and
/// says once what is pending if nothing ends for as long as EngineOptions::watchdog.
///
/// One seed gives one order as long as one thread pushes and waits, and completions are used inside
/// operations. Several threads may drive at once; then operations overlap, but never two of a lane
/// with one worker, and the order depends on these threads too.
///
/// As operations run on the thread that waits, a deadline is looked at between operations only.
///
/// Thread safety: every member may be called from any thread.
///
/// Invariants:
///  - mutex_ guards everything below it; no callable runs while it is held.
///  - An operation is in pending_ from its push to its end, and is touched without mutex_ only by
///    the thread that runs its callable, and then only what that needs. Its accesses are granted
///    to it until its end, so the versions and the poison that it meets do not change.
///  - An operation ends when its callable has ended and, where its completion is or was used,
///    complete() has come: whoever is second ends it.
///  - places_ is the number of pending operations, and of admissions that are not pushed yet.
///  - generations_ counts the pending operations by the wait_for_all() that covers them: those
///    pushed from outside since the last one began, and what these push. A number without
///    operations has no entry.
///  - What a push needs memory for is done before its operations are taken: one that throws has
///    changed nothing, and what is taken ends.
///  - Who changes what a driver may sleep for notifies changed_.
class ExploreEngine final : public PlainEngine {
 public:
  explicit ExploreEngine(const EngineOptions& options);

  bool try_admit() override;
  void cancel_admission() override;
  std::uint64_t submit(Submission& submission) override;
  Route inspect(const Submission& submission) override;
  std::uint64_t submit_block(ProgramRun& run) override;
  void wait_for_var(VarState* var, bool reads_too) override;
  void wait_for_all() override;
  std::uint64_t version(VarState* var) const override;
  std::string describe_writer(VarState* var) const override;
  ShutdownReport shutdown(ShutdownMode mode, std::chrono::milliseconds deadline) override;
  bool close() override;
  void finish_at_exit(std::chrono::milliseconds limit) override;

 private:
  using Clock = base::Clock;
  using Lock = std::unique_lock<base::Mutex>;
  using Operations = std::map<std::uint64_t, std::unique_ptr<ExploreOperation>>;  ///< by sequence
  struct OpCompletion;  // the AsyncState of this engine

  /// What has ended. It is destroyed without the lock, as that may destroy exceptions, which may do
  /// anything.
  struct Ended {
    Operations operations;
    DroppedFailures dropped;
  };

  /// A thread that waits for a variable; lives on that thread's stack.
  struct Waiter {
    VarState* var;
    bool reads_too;
    std::uint64_t last;  ///< it covers operations up to this one
    bool is_over = false;
    FailurePtr poison = nullptr;  ///< of the variable when the last covered operation ended
  };

  bool has_place() const { return places_ < options().max_pending; }
  /// Takes a place among the pending operations, as `admission` says; kAdmitted has one. Throws
  /// EngineStopped, naming `call`, after shutdown().
  void take_place(Lock& lock, Submission::Admission admission, std::string_view call);
  /// Pushes what `fill` puts into the map that it is given, by way of prepare(); returns the first
  /// number. There is a place for one. Throws what `fill` does, or std::bad_alloc, with the place
  /// given back and nothing pushed.
  template <class Fill>
  std::uint64_t enter(const OperationScope* parent, Fill&& fill);
  void prepare(const Submission& submission, Operations& entering);
  /// Runs operations until `is_over`. False if the deadline came first.
  bool drive(Lock& lock, const std::function<bool()>& is_over,
             Clock::time_point deadline = Clock::time_point::max());
  /// Runs one ready operation; false if there is none, or none may start any more.
  bool run_one(Lock& lock);
  /// Until something may be ready, or the deadline.
  void sleep(Lock& lock, Clock::time_point deadline);
  void report_stall(Lock& lock, Clock::duration time);
  std::string describe_pending() const;
  void run(ExploreOperation& operation, Lock& lock);
  void end(ExploreOperation& operation) noexcept;
  void take_ended(Ended& to) noexcept;
  void give_place_back() noexcept;

  mutable base::Mutex mutex_;
  base::ConditionVariable changed_;
  ExploreSchedule schedule_;
  Operations pending_;
  Operations ended_operations_;  ///< for take_ended()
  std::map<std::uint64_t, std::size_t> generations_;
  std::uint64_t newest_generation_ = 0;
  std::vector<Waiter*> waiters_;
  std::size_t places_ = 0;
  struct Stall {
    std::uint64_t ended = 0;  ///< operations so far
    Clock::time_point since;  ///< a driver has slept although none has ended any more
    bool is_reported = false;
  };
  Stall stall_;
  bool stopped_ = false;    ///< shutdown() was called
  bool abandoned_ = false;  ///< shutdown() did not get to the end: nobody waits any more
  bool halted_ = false;     ///< the process exits: no operation starts any more
};

}  // namespace heddle::detail
