#include "tests/explore/explored_program.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tests/explore/explored_options.h"
#include "tests/support/engines.h"
#include "tests/support/program_oracle.h"
#include "tests/support/program_run.h"
#include "tests/support/program_test.h"
#include "tests/support/random_program.h"
#include "tests/support/recording_program.h"

namespace heddle::explore {

EngineOptions explored_options(std::uint64_t seed) {
  EngineOptions options;
  options.kind = support::mix(seed, 1) % 2 == 0 ? EngineKind::kThreaded : EngineKind::kPooled;
  options.cpu_workers = static_cast<int>(1 + support::mix(seed, 2) % 3);
  options.watchdog = std::chrono::milliseconds(0);
  return options;
}

namespace {

/// That it pushes: to delete or clear a variable takes two markers.
std::size_t operations(const support::Program& program) {
  std::size_t count = program.operations.size();
  for (const std::vector<support::Step>& steps : program.threads) {
    count += 3 * static_cast<std::size_t>(
                     std::count_if(steps.begin(), steps.end(), [](const support::Step& step) {
                       return step.kind == support::Step::Kind::kDelete ||
                              step.kind == support::Step::Kind::kClear;
                     }));
  }
  return count;
}

}  // namespace

ExploredProgram operations_program(std::uint64_t seed) {
  constexpr std::array<int, 4> kVariables = {1, 2, 3, 8};
  constexpr std::array<int, 5> kSteps = {4, 8, 16, 24, 48};
  support::ProgramShape shape;
  shape.seed = seed;
  shape.variables = kVariables[support::mix(seed, 11) % kVariables.size()];
  shape.threads = static_cast<int>(1 + support::mix(seed, 12) % 3);
  shape.gpus = num_gpus();
  shape.steps_per_thread = kSteps[support::mix(seed, 13) % kSteps.size()] / shape.threads + 1;
  EngineOptions options = explored_options(seed);
  support::vary(shape, options, support::mix(seed, 14));
  while (operations(support::generate(shape)) > kMostOperations) --shape.steps_per_thread;
  std::string title = shape.str() + "; " + support::describe(options) + ", max_pending " +
                      std::to_string(options.max_pending);
  return {std::move(title), [shape, options] {
            const support::Program program = support::generate(shape);
            std::string text;
            for (const std::string& difference :
                 support::check_history(program, support::run_program(program, options))) {
              text += "\n  " + difference;
            }
            return text;
          }};
}

ExploredProgram recordings_program(std::uint64_t seed) {
  support::RecordingShape shape;
  shape.seed = seed;
  shape.threads = static_cast<int>(1 + support::mix(seed, 11) % 2);
  shape.variables = support::mix(seed, 12) % 2 == 0 ? 3 : 12;
  shape.steps_per_thread = static_cast<int>(2 + support::mix(seed, 13) % 4);
  EngineOptions options = explored_options(seed);
  if (support::mix(seed, 14) % 3 == 0) options.max_pending = 8;
  return {"recordings of seed " + std::to_string(seed) + "; " + support::describe(options),
          [shape, options] { return support::check_recordings(shape, options); }};
}

ExploredProgram explored_program(std::uint64_t seed) {
  constexpr std::array kPrograms = {&operations_program, &held_program,  &lanes_program,
                                    &operations_program, &short_program, &recordings_program,
                                    &ending_program};
  return kPrograms[seed % kPrograms.size()](seed);
}

}  // namespace heddle::explore
