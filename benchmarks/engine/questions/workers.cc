// What the number of workers does to throughput, also where there are fewer CPUs than workers.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {
namespace {

/// The numbers of workers have their turns one after the other, so that each meets the same moments
/// of the machine.
constexpr int kRounds = 5;

std::string name_of(int count) {
  return std::to_string(count) + (count == 1 ? " worker" : " workers");
}

void append(Race& race, const Race& more) {
  if (race.empty()) {
    race = more;
    return;
  }
  for (std::size_t i = 0; i < race.size(); ++i) {
    race[i].runs.insert(race[i].runs.end(), more[i].runs.begin(), more[i].runs.end());
  }
}

}  // namespace

void workers(const Options& options, Sheet& sheet) {
  std::vector<int> counts{1, 2, 8};
  if (!options.quick) counts = {1, 2, 3, 4, 6, 8};
  std::erase_if(counts, [&](int count) { return !begins(options, name_of(count)); });
  const Program program = binary(options.operations);
  const int runs = options.runs == 0 ? 0 : std::max(1, options.runs / kRounds);
  std::map<int, Race> races;
  for (int round = 0; round < kRounds; ++round) {
    for (const int count : counts) {
      Lineup lineup(options, {.workers = count});
      append(races[count], lineup.race(program, Start::kAtOnce, runs));
    }
    if (runs == 0) break;  // they are only verified
  }
  for (const auto& [count, race] : races) {
    sheet.add_with_ratios(name_of(count), "ns per operation", race,
                          [&](const Times& times) { return per_operation(times.total, program); });
  }
  sheet.show_as_curve("ns per operation");
  sheet.show_as_curve(kRatio);
}

}  // namespace bench::engine
