// What a push costs while nothing else happens, and what the rest costs: every worker is kept from
// starting anything until the whole list has been pushed, and then works it off while nobody
// pushes. The first is the time from the first push to the return of the last, the second that from
// there to the last end. Contenders whose waiting thread helps have one thread more for the second.
//
// Runtimes that run operations while they are pushed, as serial calls and libgomp, have no part.

#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {

void push_alone(const Options& options, Sheet& sheet) {
  Lineup lineup(options);
  for (const MakeProgram make : kPlainPrograms) {
    const Program program = make(options.operations);
    const std::string name = "push alone: " + program.name;
    if (!begins(options, name)) continue;
    const Race race = lineup.race(program, Start::kAfterLastPush, options.runs);
    sheet.add(name, "ns per end", race, [&](const Times& times) {
      return per_operation(times.total - times.submit, program);
    });
    sheet.add_with_ratios(name, "ns per push", race,
                          [&](const Times& times) { return per_operation(times.submit, program); });
  }
}

}  // namespace bench::engine
