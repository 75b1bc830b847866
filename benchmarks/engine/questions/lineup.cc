#include "questions/lineup.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "programs/order_check.h"
#include "questions/heap.h"

namespace bench::engine {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool can(const Contender& contender, const Program& program, Start start) {
  return contender.can_run(program) && (start == Start::kAtOnce || contender.can_hold());
}

Times run_once(Contender& contender, Start start, const Body& body) {
  return start == Start::kAtOnce ? contender.run(body) : contender.run_held(body, {});
}

void verify(const Program& program, Lineup::Member& member, Start start) {
  OrderCheck check(program);
  bool held = true;
  if (start == Start::kAtOnce) {
    member.contender->run(check.body());
  } else {
    member.contender->run_held(check.body(),
                               {.after_pushes = [&] { held = check.operations_run() == 0; }});
  }
  const std::string who = member.name + ", " + program.name + ": ";
  if (!held) throw std::runtime_error(who + "operations ran before the last push");
  if (check.errors() == 0) return;
  throw std::runtime_error(who + std::to_string(check.errors()) + " operations out of order");
}

}  // namespace

bool begins(const Options& options, const std::string& name) {
  if (!contains(name, options.program)) return false;
  std::fprintf(stderr, "  %s\n", name.c_str());
  return true;
}

int fewer_runs(const Options& options, int share) {
  return std::min(options.runs, std::max(kLeastRuns, options.runs / share));
}

int runs_of(const Options& options, int operations) {
  constexpr int kUsual = 20'000;
  return fewer_runs(options, std::max(1, operations / kUsual));
}

std::vector<Entry> entries_of(const Options& options) {
  std::vector<Entry> result;
  for (const Entry& entry : entries()) {
    if (contains(entry.name, options.contender)) result.push_back(entry);
  }
  if (result.empty()) throw std::runtime_error("no contender " + options.contender);
  return result;
}

Lineup::Lineup(const Options& options, const Settings& settings) {
  for (const Entry& entry : entries_of(options)) {
    members_.push_back({entry.name, entry.make(settings)});
  }
}

void Lineup::end_with_serial() {
  if (members_.back().name != kSerial) members_.push_back({kSerial, make_serial({})});
}

void rest_before_run() {
  constexpr std::chrono::milliseconds kPause{5};
  merge_free_blocks();
  std::this_thread::sleep_for(kPause);
}

Race Lineup::race(const Program& program, Start start, int runs, const Body& body) {
  Race results;
  for (Member& member : members_) {
    results.push_back({member.name, {}});
    if (!can(*member.contender, program, start)) continue;
    member.contender->prepare(program);
    verify(program, member, start);
    if (runs == 0) std::fprintf(stderr, "    in order by %s\n", member.name.c_str());
  }
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Contender& contender = *members_[i].contender;
      if (!can(contender, program, start)) continue;
      rest_before_run();
      results[i].runs.push_back(run_once(contender, start, body));
    }
  }
  return results;
}

}  // namespace bench::engine
