#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/ring.h"
#include "engine/base/sync.h"
#include "engine/device/backend.h"
#include "engine/device/sim_clock.h"

namespace heddle::device {

class SimFaults;

/// A FIFO queue of a simulated GPU, driven by events: it takes a thread only while a piece of its
/// work runs. Compute and brief pieces run on the executor; for others, which may sleep, a stream
/// that is not a compute stream has a thread of its own. Where pieces are late (SimFaults), they
/// are so on such a thread, whichever they are.
///
/// Thread safety: issue() as for Stream. All simulated streams of the process share one mutex
/// (in sim_stream.cc), which is held for queue operations only, never while run, finished or
/// Executor::execute are called; so finished may issue to any stream.
///
/// Invariants (under that mutex):
/// - Every piece is in queue_, or current_ while state_ is kRunning, or done; pieces leave the
///   queue in order, one at a time.
/// - state_ is kWaiting iff this stream is in a timeline's waiter list: that of the first token of
///   the queue's head, which is awaited_ and not reached. It is in no other list then.
/// - Between critical sections, state_ is kIdle only if queue_ is empty.
/// - timeline_.reached counts the pieces that are done, from the id's first stream on. An id has
///   one living stream at a time and its count goes on in the next, so every token of a stream
///   that is gone is reached.
class SimStream final : public Stream {
 public:
  /// Throws DeviceError if all ids are taken, std::system_error if a thread cannot be made, and
  /// std::bad_alloc. `faults` are the device's, null if it has none.
  SimStream(Lane lane, Executor& executor, SimFaults* faults = nullptr);
  /// Every piece's finished must have been called, or be running on another thread.
  ~SimStream() override;
  SimStream(const SimStream&) = delete;
  SimStream& operator=(const SimStream&) = delete;

  std::uint16_t id() const override;
  Token issue(const Work& work, std::span<const Token> waits) override;

 private:
  enum class State : std::uint8_t { kIdle, kWaiting, kRunning };
  struct Piece {
    Work work;
    std::size_t waits = 0;     // tokens of waits_ that are this piece's
    Clock::time_point ready;   // when it only waited for the stream's own order; if is_timed_
    std::uint64_t launch = 0;  // its number if there are faults
  };
  struct Machine;
  struct Timeline;
  class List;

  static Machine& machine();

  bool on_executor(const Work& work) const { return lane_ == Lane::kCompute || work.brief; }
  bool on_thread(const Work& work) const { return !on_executor(work) || is_late_; }
  Clock::time_point now_if_timed() const { return is_timed_ ? Clock::now() : Clock::time_point(); }
  /// The current piece, as work for the executor.
  Work executor_work();

  // With the mutex held. Streams whose piece is to be given to their executor join `started`.
  void advance(List& started);
  void complete(List& started);

  // Without it.
  static void execute_all(List started);
  void delay_current();
  void run_current();
  void call_current();
  void finish_current();
  void serve();
  void end_thread();

  const Lane lane_;
  Executor& executor_;
  SimFaults* const faults_;
  const bool is_late_;
  const bool is_timed_;  // pieces have model times, also if they do not begin when they are ready
  Timeline& timeline_;

  // Guarded by the mutex.
  std::uint64_t issued_;  // sequence of the last token
  base::Ring<Piece> queue_;
  base::Ring<Token> waits_;  // of all pieces in the queue, in order
  State state_ = State::kIdle;
  Token awaited_;
  bool threads_turn_ = false;  // current_ is for thread_, which has not taken it yet
  bool closing_ = false;
  SimStream* next_ = nullptr;     // in the list that this stream is in, if any
  base::ConditionVariable turn_;  // threads_turn_ or closing_ became true
  base::ConditionVariable idle_;  // state_ became kIdle

  // Of the thread that runs current_: one at a time, handed on through the mutex.
  Piece current_;
  Clock::time_point end_;  // of the last piece that is timed, in model time

  base::Thread thread_;  // if pieces may be for it
};

}  // namespace heddle::device
