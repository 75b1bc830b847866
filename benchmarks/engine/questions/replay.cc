// What an operation of a list costs that is run again: recorded by heddle, pushed again by heddle,
// or kept as a graph by another runtime; each has run it before. Once, and several times in a row;
// heddle does not wait between the times. By two workers, and by one.

#include <chrono>
#include <stdexcept>
#include <utility>

#include "programs/order_check.h"
#include "questions/per_operation.h"
#include "questions/questions.h"

namespace bench::engine {
namespace {

struct Runner {
  std::string name;
  Contender* contender;
  Again how;
};

std::vector<Runner> runners_of(Lineup& lineup) {
  std::vector<Runner> runners;
  for (const Lineup::Member& member : lineup.members()) {
    Contender& contender = *member.contender;
    if (contender.can_repeat(Again::kKept)) {
      runners.push_back({member.name, &contender, Again::kKept});
    }
    if (contender.can_repeat(Again::kPushed)) {
      runners.push_back({member.name + ", pushed again", &contender, Again::kPushed});
    }
  }
  return runners;
}

void keep(const Runner& runner, const Body& body) {
  if (runner.how == Again::kKept) runner.contender->keep(body);
}

void verify(const Program& program, const Runner& runner) {
  OrderCheck check(program);
  const Body body = check.body();
  keep(runner, body);
  runner.contender->repeat(body, runner.how, 1);
  if (check.errors() == 0) return;
  throw std::runtime_error(runner.name + ", " + program.name + ": operations out of order");
}

Race race(const Program& program, const std::vector<Runner>& runners, int runs, int times) {
  Race results;
  const Body empty;
  for (const Runner& runner : runners) {
    results.push_back({runner.name, {}});
    runner.contender->prepare(program);
    verify(program, runner);
    keep(runner, empty);
    runner.contender->repeat(empty, runner.how, 1);
  }
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      rest_before_run();
      results[i].runs.push_back(runners[i].contender->repeat(empty, runners[i].how, times));
    }
  }
  return results;
}

void replay_by(int workers, const Options& options, Sheet& sheet) {
  Lineup lineup(options, {.workers = workers});
  const std::vector<Runner> runners = runners_of(lineup);
  for (const MakeProgram make : kPrograms) {
    const Program program = make(options.operations);
    if (program.pushers != 1) continue;
    for (const int times : {1, 5}) {
      std::string name = (workers == 1 ? "replay by one: " : "replay: ") + program.name;
      if (times != 1) name += ", " + std::to_string(times) + " times";
      if (!begins(options, name)) continue;
      const Race result = race(program, runners, options.runs, times);
      const auto each = [&](std::chrono::nanoseconds time) {
        return per_operation(time, program) / times;
      };
      sheet.add(name, "ns per push", result,
                [&](const Times& measured) { return each(measured.submit); });
      sheet.add_with_ratios(name, "ns per operation", result,
                            [&](const Times& measured) { return each(measured.total); });
    }
  }
}

}  // namespace

void replay(const Options& options, Sheet& sheet) {
  for (const int workers : {2, 1}) replay_by(workers, options, sheet);
}

}  // namespace bench::engine
