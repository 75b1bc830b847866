#include <array>
#include <chrono>
#include <vector>

#include "heddle/cancel.h"
#include "heddle/engine.h"
#include "heddle/error.h"

#include "engine/base/thread.h"
#include "tests/explore/explored_options.h"
#include "tests/explore/explored_program.h"
#include "tests/explore/forked_child.h"
#include "tests/support/engines.h"
#include "tests/support/random_program.h"

namespace heddle::explore {
namespace {

class EndingProgram {
 public:
  EndingProgram(std::uint64_t seed, const EngineOptions& options) : seed_(seed), engine_(options) {
    const int variables = 1 + below(1, 3);
    for (int i = 0; i < variables; ++i) variables_.push_back(engine_.new_variable());
  }

  std::string run();

 private:
  /// The `what`-th draw.
  int below(std::uint64_t what, int limit) const {
    return static_cast<int>(support::mix(seed_, what) % static_cast<std::uint64_t>(limit));
  }

  void push_until_stopped(std::uint64_t pusher);
  void push(std::uint64_t draw);
  void wait() {
    try {
      engine_.wait_for_all();
    } catch (const Error&) {
      // Stopped, cancelled or abandoned, whichever comes first.
    }
  }
  std::string compare(const ShutdownReport& report) const;

  const std::uint64_t seed_;
  Engine engine_;
  std::vector<Var> variables_;
  CancelSource group_;
  base::Atomic<std::uint64_t> pushed_{0};
  base::Atomic<std::uint64_t> ran_{0};
  const Forkable forkable_{engine_, variables_};
};

void EndingProgram::push(std::uint64_t draw) {
  const auto count = static_cast<int>(variables_.size());
  const Var& read = variables_[static_cast<std::size_t>(below(draw, count))];
  const Var& mutated = variables_[static_cast<std::size_t>(below(draw + 1, count))];
  PushOptions options;
  if (below(draw + 2, 4) == 0) options.cancel = group_.token();
  const bool has_child = below(draw + 3, 5) == 0;
  engine_.push(
      [this, draw, has_child] {
        ran_.fetch_add(1);
        if (has_child) push(draw + 5);
      },
      {read}, {mutated}, options);
  pushed_.fetch_add(1);
}

void EndingProgram::push_until_stopped(std::uint64_t pusher) {
  try {
    for (std::uint64_t i = 0; i < 12; ++i) push((pusher * 100 + i) * 1000);
  } catch (const EngineStopped&) {
    // As the headers say.
  }
}

std::string EndingProgram::compare(const ShutdownReport& report) const {
  const std::uint64_t ended =
      report.completed + report.failed + report.cancelled + report.abandoned;
  if (ended == pushed_.load() && report.completed == ran_.load()) return {};
  return std::to_string(pushed_.load()) + " operations were pushed and " +
         std::to_string(ran_.load()) + " ran; reported are " + std::to_string(report.completed) +
         " completed, " + std::to_string(report.failed) + " failed, " +
         std::to_string(report.cancelled) + " cancelled, " + std::to_string(report.abandoned) +
         " abandoned";
}

std::string EndingProgram::run() {
  std::vector<base::Thread> threads;
  for (int i = 0; i <= below(2, 2); ++i) {
    threads.push_back(base::start_thread(
        "pusher", [this, i] { push_until_stopped(static_cast<std::uint64_t>(i) + 1); }));
  }
  threads.push_back(base::start_thread("waiter", [this] { wait(); }));
  for (int i = below(3, 200); i > 0; --i) base::yield();
  if (below(4, 2) == 0) group_.cancel();
  const ShutdownMode mode = below(5, 2) == 0 ? ShutdownMode::kDrain : ShutdownMode::kCancel;
  const ShutdownReport report = engine_.shutdown(mode, std::chrono::hours(1));
  for (base::Thread& thread : threads) thread.join();
  return compare(report);
}

}  // namespace

ExploredProgram ending_program(std::uint64_t seed) {
  constexpr std::array<std::size_t, 3> kLimits = {65536, 4, 1};
  EngineOptions options = explored_options(seed);
  options.max_pending = kLimits[support::mix(seed, 21) % kLimits.size()];
  return {"the end of an engine, seed " + std::to_string(seed) + "; " + support::describe(options) +
              ", max_pending " + std::to_string(options.max_pending),
          [seed, options] { return EndingProgram(seed, options).run(); }};
}

}  // namespace heddle::explore
