// Schedules of random programs: --schedules N (10^5 if not given), --seed S of the first program,
// --each K schedules of each program, --schedule I (below K) to run only that one, --depth D
// (various if not given). Prints the first failure with all that is needed to run it again.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "engine/operation_scope.h"
#include "tests/explore/explored_program.h"
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
};

bool parse(int argc, char** argv, Arguments& arguments) {
  const bool parsed = support::parse_numbers(argc, argv,
                                             {{"--schedules", &arguments.schedules},
                                              {"--seed", &arguments.seed},
                                              {"--each", &arguments.each},
                                              {"--schedule", &arguments.schedule},
                                              {"--depth", &arguments.depth}});
  const bool one = arguments.schedule != kEvery;
  return parsed && arguments.schedules != 0 && arguments.each != 0 &&
         (!one || arguments.schedule < arguments.each);
}

// Drawn from by the number of the schedule alone, so that it can be run again without the others.
constexpr std::uint64_t kSteps[] = {300, 1000, 4000};
constexpr int kDepths[] = {2, 3, 5, 10, 30};

Plan plan_of(const Arguments& arguments, std::uint64_t seed, std::uint64_t schedule) {
  Plan plan;
  plan.seed = support::mix(seed, schedule);
  plan.depth = arguments.depth != 0 ? static_cast<int>(arguments.depth) : kDepths[schedule % 5];
  plan.steps = kSteps[schedule % 3];
  return plan;
}

void* exchange_scope(void* next) {
  return detail::OperationScope::exchange_current(static_cast<detail::OperationScope*>(next));
}

int run(const Arguments& arguments) {
  Scheduler scheduler;
  scheduler.keep_local(&exchange_scope);
  std::uint64_t steps = 0;
  std::uint64_t switches = 0;
  std::uint64_t done = 0;
  for (std::uint64_t seed = arguments.seed; done < arguments.schedules; ++seed) {
    const ExploredProgram program = explored_program(seed);
    for (std::uint64_t i = 0; i < arguments.each; ++i) {
      if (arguments.schedule != kEvery && arguments.schedule != i) continue;
      std::string difference;
      const Schedule schedule =
          scheduler.run(plan_of(arguments, seed, i), [&] { difference = program.run(); });
      if (!schedule.stuck.empty() || !difference.empty()) {
        std::cout << program.title << ": " << schedule.stuck << difference
                  << "\nagain: --schedules 1 --seed " << seed << " --schedule " << i << " --depth "
                  << arguments.depth << std::endl;
        std::_Exit(1);  // what is stuck cannot be destroyed
      }
      ++done;
      steps += schedule.steps;
      switches += schedule.switches;
      if (done % 100'000 == 0) {
        std::cout << done << " schedules, next seed " << seed + 1 << std::endl;
      }
    }
  }
  std::cout << done << " schedules, " << steps / done << " steps and " << switches / done
            << " switches each: no difference\n";
  return 0;
}

}  // namespace
}  // namespace heddle::explore

int main(int argc, char** argv) {
  heddle::explore::Arguments arguments;
  if (!heddle::explore::parse(argc, argv, arguments)) {
    std::cerr << "usage: heddle_explore [--schedules N] [--seed S] [--each K] [--schedule I] "
                 "[--depth D]\n";
    return 2;
  }
  return heddle::explore::run(arguments);
}
