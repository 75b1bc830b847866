// What the number of pending operations does to throughput: so many are pushed before the first of
// them may run, then they are worked off (as in push_alone.cc).

#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {

void pending(const Options& options, Sheet& sheet) {
  constexpr std::size_t kBeside = 1000;  // for what holds the others back
  std::vector<int> counts{100, 1'000, 10'000};
  if (!options.quick) counts = {100, 1'000, 10'000, 100'000, 1'000'000};
  Lineup lineup(options, {.max_pending = static_cast<std::size_t>(counts.back()) + kBeside});
  for (const int count : counts) {
    const Program program = binary(count);
    const std::string name = std::to_string(count) + " pending";
    if (!begins(options, name)) continue;
    const Race race = lineup.race(program, Start::kAfterLastPush, runs_of(options, count));
    sheet.add(name, "ns per push", race,
              [&](const Times& times) { return per_operation(times.submit, program); });
    sheet.add(name, "ns per end", race, [&](const Times& times) {
      return per_operation(times.total - times.submit, program);
    });
    sheet.add_with_ratios(name, "ns per push and end", race,
                          [&](const Times& times) { return per_operation(times.total, program); });
  }
  sheet.show_as_curve("ns per push");
  sheet.show_as_curve("ns per end");
  sheet.show_as_curve("ns per push and end");
  sheet.show_as_curve(kRatio);
}

}  // namespace bench::engine
