#include "tests/support/program_test.h"

#include <array>
#include <vector>

#include "tests/support/engines.h"
#include "tests/support/program_oracle.h"
#include "tests/support/program_run.h"
#include "tests/support/watchdog.h"

namespace heddle::support {
namespace {

std::string report(const ProgramShape& shape, const EngineOptions& options,
                   const std::vector<std::string>& differences) {
  if (differences.empty()) return {};
  std::string text = shape.str() + "; " + describe(options) + ", max_pending " +
                     std::to_string(options.max_pending);
  for (const std::string& difference : differences) text += "\n  " + difference;
  return text;
}

bool same_outcome(const Waited& a, const Waited& b) {
  return a.kind == b.kind && a.after == b.after && a.roots == b.roots && a.refused == b.refused &&
         a.value == b.value;
}

}  // namespace

std::string check_program(const ProgramShape& shape, const EngineOptions& options) {
  watchdog::start(shape.str() + "; " + describe(options));
  const Program program = generate(shape);
  return report(shape, options, check_history(program, run_program(program, options)));
}

std::string check_program_against_naive(const ProgramShape& shape, const EngineOptions& options) {
  watchdog::start(shape.str() + "; " + describe(options) + " against naive");
  const Program program = generate(shape);
  const History history = run_program(program, options);
  EngineOptions naive;
  naive.kind = EngineKind::kNaive;
  const History expected = run_program(program, naive);
  std::vector<std::string> differences = check_history(program, history);
  for (std::size_t i = 0; i < expected.variables.size(); ++i) {
    if (history.variables[i] == expected.variables[i]) continue;
    differences.push_back("variable " + std::to_string(i) + " differs from the naive engine's");
  }
  for (std::size_t i = 0; i < expected.waits.size(); ++i) {
    if (same_outcome(history.waits[i], expected.waits[i])) continue;
    differences.push_back("wait " + std::to_string(i) + " ended otherwise on the naive engine");
  }
  return report(shape, options, differences);
}

void vary(ProgramShape& shape, EngineOptions& options, std::uint64_t index) {
  constexpr std::array<std::size_t, 4> kLimits = {65536, 16, 2, 1};
  shape.errors = index % 3 != 0;
  shape.children = index % 2 != 0;
  shape.deletions = index % 5 != 0;
  shape.waits = index % 7 != 0;
  options.max_pending = index % 4 == 3 ? kLimits[index / 4 % 4] : kLimits[0];
}

}  // namespace heddle::support
