#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/explore/fiber.h"

namespace heddle::explore {

/// How a schedule is drawn; the same plan gives the same schedule of the same program.
struct Plan {
  std::uint64_t seed = 1;
  /// Of the bugs to be found: how many ordering constraints between steps a schedule has to meet.
  int depth = 3;
  /// About how many steps the program takes, from an earlier run of it.
  std::uint64_t steps = 2000;
};

/// What became of a schedule.
struct Schedule {
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
  /// Empty, or why the program did not come to its end: who waits for what.
  std::string stuck;
};

/// Runs a program of several threads as fibers, in an order that it draws: the probabilistic
/// concurrency testing of Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees
/// of Finding Bugs" (ASPLOS 2010). Each thread has a random priority, the first that is able to
/// runs, and at depth - 1 random steps the one that runs falls below all others: that finds a bug
/// of this depth, in a program of n threads and k steps, with a probability of at least
/// 1 / (n k^(depth - 1)). Who yields waits for another one: it falls, too, or draws anew.
///
/// A step is a call on an atomic or a lock (tests/explore/sync), each of which sees what the one
/// before left: the order is sequentially consistent. Time is counted in steps, and jumps when
/// all sleep.
///
/// Invariants:
///  - One fiber runs; the others are ready, or blocked on a key, till a time, or both.
///  - Nothing but step(), and what blocks, gives the CPU away.
class Scheduler {
 public:
  using Nanoseconds = std::int64_t;
  static constexpr Nanoseconds kForEver = std::numeric_limits<Nanoseconds>::max();

  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Runs `program` as the first thread until all threads have ended. After a schedule that got
  /// stuck neither the scheduler nor what its threads used may be touched.
  Schedule run(const Plan& plan, std::function<void()> program);

  /// The one whose program runs, or null.
  static Scheduler* current() { return s_current; }

  /// In the next schedule the thread that takes this step calls `look` before it: of the program
  /// nothing goes on meanwhile, and `look` must not take steps of its own.
  void look_at(std::uint64_t step, std::function<void()> look) {
    look_at_ = step;
    look_ = std::move(look);
  }

  /// Something that is local to each thread (null when it starts): at each switch this gets what
  /// the one had that goes on, and returns what the one has that is left.
  using ExchangeLocal = void* (*)(void* next);
  void keep_local(ExchangeLocal exchange) { exchanges_.push_back(exchange); }

  // For the threads.
  /// A place where another thread may go on.
  void step();
  /// The thread spins, which it must not do for ever: time passes.
  void relax();
  /// The thread waits for others.
  void yield();
  /// Blocks until wake() of `key`, or till `until`; false then.
  bool block(const void* key, Nanoseconds until = kForEver);
  void wake_one(const void* key);
  void wake_all(const void* key);
  /// wake_all() that a look may call: they go on before all other threads until they yield, or a
  /// change of priorities is due.
  void wake_first(const void* key);
  std::size_t start(const std::string& name, std::function<void()> body);
  void join(std::size_t thread);
  /// True if it waits, or has ended.
  bool is_blocked(std::size_t thread) const;
  Nanoseconds now() const { return now_; }
  /// How often a blocked thread has been woken.
  std::uint64_t woken() const { return woken_; }

 private:
  struct Thread;

  void draw(const Plan& plan);
  void go_on();
  Thread* best();
  void change(Thread& to);
  std::int64_t draw_priority();
  void make_ready(Thread& thread);
  void wake(Thread& thread);
  void wake_sleepers();
  void end();
  bool all_ended() const;
  std::string describe() const;

  static Scheduler* s_current;

  Fiber outside_;
  std::vector<std::unique_ptr<Thread>> threads_;  ///< more than count_: kept for the next schedule
  std::size_t count_ = 0;
  Thread* running_ = nullptr;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> changes_;  ///< steps at which priorities change, the next one last
  std::int64_t lowest_ = 0;             ///< priority, of those so far
  std::uint64_t steps_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t woken_ = 0;
  Nanoseconds now_ = 0;
  Nanoseconds per_step_ = 10;
  Nanoseconds next_wake_ = kForEver;  ///< of those who sleep till a time
  bool must_choose_ = false;          ///< one more is ready since the last choice
  std::uint64_t look_at_ = 0;         ///< a step, or 0
  std::function<void()> look_;
  std::string stuck_;
  std::vector<ExchangeLocal> exchanges_;
};

}  // namespace heddle::explore
