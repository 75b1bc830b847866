// Random programs over arrays on simulated GPUs: --ops N (10^6 if not given), --seed S, --gpus N
// (4 if not given). Prints what was done, or the first failure with all that is needed to run it
// again.

#include <cstdint>
#include <iostream>
#include <string>

#include "heddle/heddle.h"

#include "tests/stress/stress_main.h"
#include "tests/support/array_program.h"
#include "tests/support/watchdog.h"

namespace heddle {
namespace {

using stress::Arguments;

int run(const Arguments& arguments) {
  RuntimeOptions options;
  options.gpus = "sim:" + std::to_string(arguments.gpus);
  configure(options);
  constexpr int kThreads[] = {1, 2, 4};
  constexpr int kSteps[] = {500, 5000, 20000};
  std::uint64_t steps = 0;
  std::uint64_t programs = 0;
  for (std::uint64_t seed = arguments.seed; steps < arguments.ops; ++seed, ++programs) {
    const int threads = kThreads[seed % 3];
    const support::ArrayProgram program{
        .seed = seed, .threads = threads, .steps_per_thread = kSteps[seed / 3 % 3] / threads};
    support::watchdog::start("seed " + std::to_string(seed));
    const std::string failure = support::check_arrays(program);
    if (!failure.empty()) {
      std::cerr << failure << "\nagain: --ops 1 --seed " << seed << '\n';
      return 1;
    }
    steps +=
        static_cast<std::uint64_t>(program.steps_per_thread) * static_cast<std::uint64_t>(threads);
  }
  // Takes the number that comes next, so that the engine's operations are counted, too.
  const std::uint64_t pushed = Engine::get().push([] {}, {}, {});
  Engine::get().wait_for_all();
  std::cout << programs << " programs, " << steps << " steps, " << pushed << " operations on "
            << arguments.gpus << " devices: no difference\n";
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  return heddle::stress::stress_main(argc, argv, "heddle_array_stress",
                                     {.ops = 1'000'000, .gpus = 4}, heddle::run);
}
