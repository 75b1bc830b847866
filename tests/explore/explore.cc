// Schedules of random programs: --schedules N (10^5 if not given), --seed S of the first program,
// --each K schedules of each program, --schedule I to run only that one, --depth D and --steps N,
// within which priorities change (various if not given), --forks F: one in F schedules forks a
// child at one of its steps (50 if not given, 0: none), --gpus G: operations may run on as many
// simulated GPUs (0 if not given), which makes them other programs. Prints the first failure with
// all that is needed to run it again. Without --steps the schedules before --schedule I are run,
// too: the priorities change within as many steps as the one before it took.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "heddle/device.h"

#include "tests/explore/engine_locals.h"
#include "tests/explore/explored_program.h"
#include "tests/explore/forked_child.h"
#include "tests/explore/scheduler.h"
#include "tests/support/number_arguments.h"
#include "tests/support/random_program.h"

namespace heddle::explore {
namespace {

constexpr std::uint64_t kEvery = ~std::uint64_t{0};

struct Arguments {
  std::uint64_t schedules = 100'000;
  std::uint64_t seed = 1;
  std::uint64_t each = 20;
  std::uint64_t schedule = kEvery;
  std::uint64_t depth = 0;  ///< 0: of the number of the schedule
  std::uint64_t steps = 0;  ///< 0: of that number, and of the schedule before
  std::uint64_t forks = 50;
  std::uint64_t gpus = 0;
};

constexpr const char* kUsage =
    "usage: heddle_explore [--schedules N] [--seed S] [--each K] [--schedule I] [--depth D] "
    "[--steps N] [--forks F] [--gpus G]\n";

bool parse(int argc, char** argv, Arguments& arguments) {
  const bool parsed = support::parse_numbers(argc, argv,
                                             {{"--schedules", &arguments.schedules},
                                              {"--seed", &arguments.seed},
                                              {"--each", &arguments.each},
                                              {"--schedule", &arguments.schedule},
                                              {"--depth", &arguments.depth},
                                              {"--steps", &arguments.steps},
                                              {"--forks", &arguments.forks},
                                              {"--gpus", &arguments.gpus}});
  if (arguments.schedule != kEvery) arguments.each = arguments.schedule + 1;
  return parsed && arguments.schedules != 0 && arguments.each != 0;
}

// Most bugs need few constraints; a schedule with more of them meets what does not.
constexpr int kDepths[] = {3, 2, 3, 5, 3, 10, 3, 30, 3, 2};
/// Where an engine starts, and learns how long its operations take.
constexpr std::uint64_t kEarly[] = {300, 1000, 4000};

/// `length`: the steps of the program's schedule before, or 0.
Plan plan_of(const Arguments& arguments, std::uint64_t seed, std::uint64_t schedule,
             std::uint64_t length) {
  Plan plan;
  plan.seed = support::mix(seed, schedule);
  plan.depth = arguments.depth != 0 ? static_cast<int>(arguments.depth) : kDepths[schedule % 10];
  plan.steps = length == 0 || schedule % 3 == 0 ? kEarly[schedule / 3 % 3] : length;
  if (arguments.steps != 0) plan.steps = arguments.steps;
  return plan;
}

class Exploration {
 public:
  explicit Exploration(const Arguments& arguments) : arguments_(arguments) {
    keep_engine_locals(scheduler_);
  }

  void run() {
    for (std::uint64_t seed = arguments_.seed; done_ < arguments_.schedules; ++seed) {
      const ExploredProgram program = explored_program(seed);
      std::uint64_t length = 0;
      for (std::uint64_t i = first(); i < arguments_.each; ++i) {
        const Plan plan = plan_of(arguments_, seed, i, length);
        length = run(program, plan, seed, i);
        if (++done_ % 100'000 == 0) {
          std::cout << done_ << " schedules, next seed " << seed + 1 << std::endl;
        }
      }
    }
    std::cout << done_ << " schedules, " << steps_ / done_ << " steps and " << switches_ / done_
              << " switches each, " << forks_ << " forked children: no difference\n";
  }

 private:
  /// What --steps stands for need not be found out.
  std::uint64_t first() const {
    return arguments_.schedule != kEvery && arguments_.steps != 0 ? arguments_.schedule : 0;
  }

  std::uint64_t run(const ExploredProgram& program, const Plan& plan, std::uint64_t seed,
                    std::uint64_t number) {
    std::string difference;
    fork_in(plan, difference);
    const Schedule schedule = scheduler_.run(plan, [&] { difference += program.run(); });
    if (!schedule.stuck.empty() || !difference.empty()) {
      std::cout << program.title << ": " << schedule.stuck << difference
                << "\nagain: --schedules 1 --seed " << seed << " --schedule " << number
                << " --depth " << plan.depth << " --steps " << plan.steps << " --forks "
                << arguments_.forks << " --gpus " << arguments_.gpus << std::endl;
      std::_Exit(1);  // what is stuck cannot be destroyed
    }
    steps_ += schedule.steps;
    switches_ += schedule.switches;
    return schedule.steps;
  }

  /// If it is this schedule's turn: the schedule does not depend on it.
  void fork_in(const Plan& plan, std::string& difference) {
    if (arguments_.forks == 0 || support::mix(plan.seed, 1) % arguments_.forks != 0) return;
    const std::uint64_t step = 1 + support::mix(plan.seed, 2) % plan.steps;
    scheduler_.look_at(step, [this, step, &difference] {
      if (!Forkable::is_any()) return;
      ++forks_;
      const std::string wrong = Forkable::fork_here();
      if (wrong.empty()) return;
      difference += "\n  a child forked at step " + std::to_string(step) + ": " + wrong;
    });
  }

  const Arguments arguments_;
  Scheduler scheduler_;
  std::uint64_t done_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t forks_ = 0;
};

}  // namespace
}  // namespace heddle::explore

int main(int argc, char** argv) {
  heddle::explore::Arguments arguments;
  if (!heddle::explore::parse(argc, argv, arguments)) {
    std::cerr << heddle::explore::kUsage;
    return 2;
  }
  const std::string gpus = arguments.gpus == 0 ? "" : "sim:" + std::to_string(arguments.gpus);
  setenv("HEDDLE_GPUS", gpus.c_str(), /*overwrite=*/1);
  static_cast<void>(heddle::num_gpus());  // which makes them, once for all schedules
  heddle::explore::Exploration(arguments).run();
  return 0;
}
