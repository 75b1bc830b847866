#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/engine.h"

#include "engine/base/thread.h"
#include "tests/explore/explored_options.h"
#include "tests/explore/explored_program.h"
#include "tests/explore/forked_child.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/random_program.h"

namespace heddle::explore {
namespace {

/// What the held operation waits for.
enum class Release : std::uint8_t {
  kOperation,   ///< an operation that was pushed before it
  kWaitForVar,  ///< a thread's wait for a variable that it does not name
  kWaitUnused,  ///< the same for its readers, too
  kWaitForAll,  ///< a thread's wait for everything that was pushed before it
  kPush,        ///< pushes beyond the limit
  kHowMany,
};

constexpr int kMostRounds = 3;
/// Where there is a limit, enough to go beyond it.
constexpr int kMostBeyond = 10;
/// What a round pushes in any case, in the largest one.
constexpr int kMostInRound = 1 + kMostBeyond;
constexpr int kMostWorkers = 3;

class HeldProgram {
 public:
  HeldProgram(std::uint64_t seed, const EngineOptions& options)
      : random_(seed), engine_(options), held_(engine_.new_variable()) {
    const int variables = 1 + below(4);
    for (int i = 0; i < variables; ++i) variables_.push_back(engine_.new_variable());
  }

  std::string run() {
    const bool alone = engine_.options().cpu_workers == 1;
    const int rounds = 1 + below(kMostRounds);
    for (int i = 0; i < rounds; ++i) alone ? run_round_of_one() : run_round();
    let_workers_meet();
    const std::uint64_t ran = ran_.load();
    if (ran == pushed_) return {};
    return std::to_string(ran) + " of " + std::to_string(pushed_) + " operations ran";
  }

 private:
  using Variables = std::vector<Var>;

  int below(int limit) {
    random_ = support::mix(random_, 1);
    return static_cast<int>(random_ % static_cast<std::uint64_t>(limit));
  }
  const Var& variable() {
    return variables_[static_cast<std::size_t>(below(static_cast<int>(variables_.size())))];
  }

  void push_some(int most) {
    const int count = std::min(below(most + 1), room_);
    room_ -= count;
    for (int i = 0; i < count; ++i) {
      Variables reads;
      Variables mutates;
      for (int j = below(3); j > 0; --j) reads.push_back(variable());
      for (int j = below(3); j > 0; --j) mutates.push_back(variable());
      push([] {}, reads, mutates, below(4) == 0 ? below(3) - 1 : 0);
    }
  }
  template <class Fn>
  void push(Fn fn, const Variables& reads, const Variables& mutates, int priority) {
    ++pushed_;
    const auto body = [this, fn] {
      ran_.fetch_add(1);
      fn();
    };
    engine_.push(body, reads, mutates, {.priority = priority});
  }
  void push_held(support::Gate& gate) {
    ++pushed_;
    engine_.push(
        [this, &gate] {
          gate.wait();
          ran_.fetch_add(1);
        },
        {}, {held_});
  }

  void run_round();
  void run_round_of_one();
  void wait_beside(support::Gate& gate);
  void let_workers_meet();

  std::uint64_t random_;
  Engine engine_;
  Var held_;
  Variables variables_;
  /// For operations that nothing is said of.
  int room_ = kMostOperations - kMostRounds * kMostInRound - kMostWorkers;
  std::uint64_t pushed_ = 0;
  base::Atomic<std::uint64_t> ran_{0};
  const Forkable forkable_{engine_, variables_};
};

void HeldProgram::run_round() {
  support::Gate gate;
  const auto release = static_cast<Release>(below(static_cast<int>(Release::kHowMany)));
  push_some(6);
  switch (release) {
    case Release::kOperation:
      push([&gate] { gate.open(); }, {variable()}, {variable()}, below(3) - 1);
      push_held(gate);
      push_some(3);
      break;
    case Release::kWaitForVar:
      push_held(gate);
      push_some(3);
      engine_.wait_for_var(variable());
      gate.open();
      break;
    case Release::kWaitUnused:
      push_held(gate);
      push_some(3);
      engine_.wait_for_var_unused(variable());
      gate.open();
      break;
    case Release::kWaitForAll:
      wait_beside(gate);
      break;
    case Release::kPush:
    case Release::kHowMany:
      push_held(gate);
      for (int i = 0; i < kMostBeyond; ++i) push([] {}, {}, {variable()}, 0);
      gate.open();
      break;
  }
  engine_.wait_for_var(held_);
}

/// The only worker runs what is older and independent, and then is held.
void HeldProgram::run_round_of_one() {
  support::Gate gate;
  const bool for_all = below(2) == 0;
  for (const Var& var : variables_) push([] {}, {}, {var}, 0);
  if (for_all) {
    wait_beside(gate);
  } else {
    push_held(gate);
    engine_.wait_for_var(variable());
    gate.open();
  }
  engine_.wait_for_var(held_);
}

/// The held operation is pushed when the thread that waits for everything is asleep.
void HeldProgram::wait_beside(support::Gate& gate) {
  base::Thread waiter = base::start_thread("waiter", [this, &gate] {
    engine_.wait_for_all();
    gate.open();
  });
  while (!waiter.is_blocked()) base::yield();
  push_held(gate);
  waiter.join();
}

/// As many operations as there are workers run at a time, whatever was before: no seat is lost.
/// Some of them on the thread that waits, or none.
void HeldProgram::let_workers_meet() {
  support::Gate all;
  const int workers = engine_.options().cpu_workers;
  base::Atomic<int> missing{workers};
  for (int i = below(3); i > 0; --i) {
    push_some(16);
    engine_.wait_for_all();
  }
  for (int i = 0; i < workers; ++i) {
    const auto meet = [&] {
      if (missing.fetch_sub(1) == 1) all.open();
      all.wait();
    };
    push(meet, {}, {}, 0);
  }
  if (below(2) == 0) all.wait();
  engine_.wait_for_all();
}

}  // namespace

ExploredProgram held_program(std::uint64_t seed) {
  constexpr std::array<std::size_t, 4> kLimits = {65536, 65536, 8, 3};
  EngineOptions options = explored_options(seed);
  options.max_pending = kLimits[support::mix(seed, 11) % kLimits.size()];
  return {"held operations of seed " + std::to_string(seed) + "; " + support::describe(options) +
              ", max_pending " + std::to_string(options.max_pending),
          [seed, options] { return HeldProgram(seed, options).run(); }};
}

}  // namespace heddle::explore
