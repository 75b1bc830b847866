// What an empty operation costs, from the first push to the last end, while the workers run what
// has been pushed already.

#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {

void throughput(const Options& options, Sheet& sheet) {
  Lineup lineup(options);
  for (const MakeProgram make : kPrograms) {
    const Program program = make(options.operations);
    if (!begins(options, program.name)) continue;
    const Race race = lineup.race(program, Start::kAtOnce, options.runs);
    sheet.add(program.name, "ns per push", race,
              [&](const Times& times) { return per_operation(times.submit, program); });
    sheet.add_with_ratios(program.name, "ns per operation", race,
                          [&](const Times& times) { return per_operation(times.total, program); });
  }
}

}  // namespace bench::engine
