#include "tests/support/program_test.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <vector>

#include "tests/support/engines.h"
#include "tests/support/program_oracle.h"
#include "tests/support/program_run.h"
#include "tests/support/program_shrink.h"
#include "tests/support/program_text.h"
#include "tests/support/watchdog.h"

namespace heddle::support {
namespace {

/// How often a program that has failed is run to see how often it fails, and how long, and how many
/// times, smaller ones are tried.
constexpr int kRuns = 20;
constexpr int kMostTried = 5000;
constexpr std::chrono::seconds kLongest{60};

std::vector<std::string> run_and_check(const Program& program, const EngineOptions& options) {
  return check_history(program, run_program(program, options));
}

int count_failures(const Program& program, const EngineOptions& options, int runs, int enough) {
  int failures = 0;
  for (int i = 0; i < runs && failures < enough; ++i) {
    watchdog::progress();
    if (!run_and_check(program, options).empty()) ++failures;
  }
  return failures;
}

/// The smallest program found that fails, as text.
std::string smaller(const Program& program, const EngineOptions& options) {
  const int failures = count_failures(program, options, kRuns, kRuns);
  const std::string share = std::to_string(failures) + " of " + std::to_string(kRuns) + " runs";
  if (failures == 0) return "\nit failed in " + share + " more, so it was not made smaller";
  const int runs = std::min(kRuns, 3 * kRuns / failures);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  const auto fails = [&](const Program& candidate) {
    if (std::chrono::steady_clock::now() > end) return false;
    return count_failures(candidate, options, runs, /*enough=*/1) != 0;
  };
  const Program small = shrink(program, fails, kMostTried);
  return "\nit failed in " + share + " more; this fails, too:\n" + to_text(small, options);
}

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
  std::string failure = report(shape, options, run_and_check(program, options));
  if (failure.empty()) return {};
  std::cerr << failure << std::endl;  // a smaller one might not come to its end
  return failure + smaller(program, options);
}

std::string check_program(const ProgramText& text, int runs) {
  for (int i = 0; i < runs; ++i) {
    watchdog::progress();
    for (const std::string& difference : run_and_check(text.program, text.options)) {
      return difference;
    }
  }
  return {};
}

std::string check_program_against_naive(const ProgramShape& shape, const EngineOptions& options) {
  watchdog::start(shape.str() + "; " + describe(options) + " against naive");
  ProgramShape without_cancels = shape;  // they come sooner or later
  without_cancels.cancels = false;
  const Program program = generate(without_cancels);
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
  shape.cancels = index / 2 % 4 != 0;
  options.max_pending = index % 4 == 3 ? kLimits[index / 4 % 4] : kLimits[0];
}

}  // namespace heddle::support
