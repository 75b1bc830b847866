// What the number of variables does to throughput: operations on two random ones that write a third
// random one. With few of them there is little to do at the same time, with many none is in a
// cache.

#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {

void variables(const Options& options, Sheet& sheet) {
  Lineup lineup(options);
  std::vector<int> counts{1, 100, 10'000};
  if (!options.quick) counts = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000};
  for (const int count : counts) {
    const Program program = binary_of(options.operations, count);
    const std::string name = std::to_string(count) + (count == 1 ? " variable" : " variables");
    if (!begins(options, name)) continue;
    const Race race = lineup.race(program, Start::kAtOnce, options.runs);
    sheet.add_with_ratios(name, "ns per operation", race,
                          [&](const Times& times) { return per_operation(times.total, program); });
  }
  sheet.show_as_curve("ns per operation");
  sheet.show_as_curve(kRatio);
}

}  // namespace bench::engine
