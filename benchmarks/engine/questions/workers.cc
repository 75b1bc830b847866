// What the number of workers does to throughput, also where there are fewer CPUs than workers.

#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {

void workers(const Options& options, Sheet& sheet) {
  std::vector<int> counts{1, 2, 8};
  if (!options.quick) counts = {1, 2, 3, 4, 6, 8};
  for (const int count : counts) {
    const std::string name = std::to_string(count) + (count == 1 ? " worker" : " workers");
    if (!begins(options, name)) continue;
    Lineup lineup(options, {.workers = count});
    const Program program = binary(options.operations);
    const Race race = lineup.race(program, Start::kAtOnce, options.runs);
    sheet.add_with_ratios(name, "ns per operation", race,
                          [&](const Times& times) { return per_operation(times.total, program); });
  }
  sheet.show_as_curve("ns per operation");
  sheet.show_as_curve(kRatio);
}

}  // namespace bench::engine
