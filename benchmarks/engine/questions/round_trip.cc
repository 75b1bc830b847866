// How long it takes to push one empty operation and wait for it: with workers that have just run
// the one before, and with workers that have been left alone for some milliseconds and sleep. Where
// the thread that waits may run operations itself, it usually does.

#include <atomic>
#include <stdexcept>

#include "questions/questions.h"

namespace bench::engine {
namespace {

using std::chrono::nanoseconds;

/// Throws if a wait returns before its operation has run.
void verify(Lineup::Member& member, RoundTrips trips) {
  std::atomic<std::size_t> ran{0};
  std::size_t waited_for = 0;
  bool right = true;
  trips.after_each = [&] { right = right && ran == ++waited_for; };
  member.contender->round_trips(Body([&](std::size_t) { ++ran; }), trips);
  if (!right) throw std::runtime_error(member.name + ": a wait returned too early");
}

void measure(const std::string& name, const RoundTrips& trips, const Options& options,
             Sheet& sheet) {
  if (!begins(options, name)) return;
  const Program program = chain(1);
  Lineup lineup(options);
  std::vector<Row> rows;
  for (Lineup::Member& member : lineup.members()) {
    rows.push_back({name, member.name, "ns per round trip", {}});
    member.contender->prepare(program);
    verify(member, trips);
  }
  for (int run = 0; run < options.runs; ++run) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const nanoseconds time : lineup.members()[i].contender->round_trips({}, trips)) {
        rows[i].samples.push_back(static_cast<double>(time.count()));
      }
    }
  }
  sheet.add_with_ratios(rows);
}

}  // namespace

void round_trip(const Options& options, Sheet& sheet) {
  measure("round trip", {.count = 200}, options, sheet);
  measure("round trip, after 5 ms", {.count = 4, .pause = std::chrono::milliseconds(5)}, options,
          sheet);
}

}  // namespace bench::engine
