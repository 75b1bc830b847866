// Random programs without end in sight: --ops N (10^8 if not given), --seed S, --gpus N. Prints a
// line now and then, and the first failure with all that is needed to run it again.

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "heddle/options.h"

#include "tests/stress/stress_main.h"
#include "tests/support/engines.h"
#include "tests/support/program_test.h"

namespace heddle {
namespace {

using stress::Arguments;

/// The `index`-th program: each combination of sizes, threads and engine comes up.
support::ProgramShape shape_of(std::uint64_t index, std::uint64_t gpus) {
  constexpr int kVariables[] = {1, 2, 3, 8, 64, 1024};
  constexpr int kThreads[] = {1, 2, 4, 8, 16};
  constexpr int kSteps[] = {5, 50, 500, 5000, 50000};
  support::ProgramShape shape;
  shape.seed = index;
  shape.variables = kVariables[support::mix(index, 1) % 6];
  shape.threads = kThreads[support::mix(index, 2) % 5];
  shape.steps_per_thread = kSteps[support::mix(index, 3) % 5] / shape.threads + 1;
  shape.gpus = static_cast<int>(gpus);
  return shape;
}

int run(const Arguments& arguments) {
  if (arguments.gpus != 0) {
    RuntimeOptions options;
    options.gpus = "sim:" + std::to_string(arguments.gpus);
    configure(options);
  }
  std::vector<EngineOptions> engines = support::parallel_engines();
  for (const EngineOptions& explorer : support::explore_engines()) engines.push_back(explorer);
  std::uint64_t done = 0;
  std::uint64_t reported = 0;
  for (std::uint64_t index = arguments.seed; done < arguments.ops; ++index) {
    support::ProgramShape shape = shape_of(index, arguments.gpus);
    EngineOptions options = engines[support::mix(index, 4) % engines.size()];
    options.seed = index;
    if (support::mix(index, 6) % 2 == 0) {
      options.cpu_workers = 1 + static_cast<int>(support::mix(index, 7) % 8);
    }
    support::vary(shape, options, support::mix(index, 5));
    const std::string failure = support::check_program(shape, options);
    if (!failure.empty()) {
      std::cerr << failure << "\nagain: --ops 1 --seed " << index << '\n';
      return 1;
    }
    done += static_cast<std::uint64_t>(shape.threads * shape.steps_per_thread);
    if (done - reported >= 10'000'000) {
      reported = done;
      std::cout << done << " operations, next seed " << index + 1 << std::endl;
    }
  }
  std::cout << done << " operations: no difference\n";
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  return heddle::stress::stress_main(argc, argv, "heddle_random_stress", {.ops = 100'000'000},
                                     heddle::run);
}
