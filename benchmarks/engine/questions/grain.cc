// How large operations must be for the workers to be busy. As Task Bench defines it, on a stencil
// of width 64: efficiency is tasks x grain / (wall time x cores), the granularity of a run is wall
// time x cores / tasks, and METG(50 %) is the smallest granularity at which efficiency is one half.
// There is a worker for each CPU that the process may use.
//
// An operation computes for so many steps of a chain in which each waits for the one before. It
// does not look at the clock: a thread that has lost its CPU would count as working. What a grain
// is in time is the median of serial runs of the same operations, which take turns with the others:
// the speed of a machine changes.

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <thread>

#include "questions/questions.h"

namespace bench::engine {
namespace {

using std::chrono::nanoseconds;

void compute(std::int64_t steps) {
  std::uint64_t x = 1;
  for (; steps > 0; --steps) {
    x = x * 6364136223846793005U + 1;
    asm volatile("" : "+r"(x));
  }
}

/// How many take a nanosecond when nothing disturbs them.
double steps_per_ns() {
  constexpr std::int64_t kSteps = 200'000;
  nanoseconds best = nanoseconds::max();
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    compute(kSteps);
    best = std::min<nanoseconds>(best, std::chrono::steady_clock::now() - begin);
  }
  return static_cast<double>(kSteps) / static_cast<double>(best.count());
}

/// Of one contender at one grain.
struct Point {
  double granularity;  ///< ns
  double efficiency;
};
using Curve = std::vector<Point>;  ///< by grain, the largest first

/// The smallest grain at which efficiency is at least one half, and from there towards the next
/// smaller one: between the two, efficiency is taken to be linear in the logarithm of granularity.
/// If it is one half at the smallest grain of all that is an upper bound; if it is nowhere, the
/// largest is a lower bound.
double metg(const Curve& curve) {
  constexpr double kHalf = 0.5;
  const auto is_busy = [](const Point& point) { return point.efficiency >= kHalf; };
  const auto above = std::find_if(curve.rbegin(), curve.rend(), is_busy);
  if (above == curve.rend()) return curve.front().granularity;
  if (above == curve.rbegin()) return above->granularity;
  const Point& below = *std::prev(above);
  const double share = (above->efficiency - kHalf) / (above->efficiency - below.efficiency);
  return std::exp(std::lerp(std::log(above->granularity), std::log(below.granularity), share));
}

/// So many rows that a run takes some milliseconds.
int tasks_of(nanoseconds grain, const Options& options) {
  const nanoseconds work = std::chrono::milliseconds(options.quick ? 5 : 20);
  const nanoseconds cost = grain + std::chrono::microseconds(1);
  const int rows = static_cast<int>(work / cost) / kStencilWidth;
  return std::max(rows, options.quick ? 4 : 8) * kStencilWidth;
}

/// Adds the runs at one grain to curves[contender][run]. The last contender, serial calls, measures
/// and is not measured.
void add_points(const Race& race, int tasks, unsigned cores,
                std::vector<std::vector<Curve>>& curves) {
  if (race.back().runs.empty()) return;
  std::vector<double> serial;
  for (const Times& times : race.back().runs) {
    serial.push_back(static_cast<double>(times.total.count()));
  }
  const double useful = quantile(serial, 0.5);
  for (std::size_t i = 0; i + 1 < race.size(); ++i) {
    curves[i].resize(race[i].runs.size());
    for (std::size_t run = 0; run < race[i].runs.size(); ++run) {
      const double spent = static_cast<double>(race[i].runs[run].total.count()) * cores;
      curves[i][run].push_back({spent / tasks, useful / spent});
    }
  }
}

/// A row for each contender, a sample for each of its curves.
template <class Quantity>
std::vector<Row> to_rows(const std::string& name, const std::string& metric, Lineup& lineup,
                         const std::vector<std::vector<Curve>>& curves, const Quantity& quantity) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    Row& row = rows.emplace_back(Row{name, lineup.members()[i].name, metric, {}});
    for (const Curve& curve : curves[i]) row.samples.push_back(quantity(curve));
  }
  return rows;
}

std::string case_of(nanoseconds grain) {
  std::string number = std::to_string(grain.count() / 1000);
  if (grain.count() % 1000 != 0) number += "." + std::to_string(grain.count() % 1000 / 100);
  return "stencil, grain " + number + " us";
}

}  // namespace

void grain(const Options& options, Sheet& sheet) {
  constexpr std::array kTenthsOfMicroseconds{1000, 500, 200, 100, 50, 20, 10, 5, 2, 1};
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const double speed = steps_per_ns();
  const int runs = fewer_runs(options, 3);
  Lineup lineup(options, {.workers = static_cast<int>(cores)});
  lineup.end_with_serial();
  std::vector<std::vector<Curve>> curves(lineup.members().size() - 1);
  std::size_t grains = 0;
  for (const int tenths : kTenthsOfMicroseconds) {
    const nanoseconds grain = tenths * nanoseconds(100);
    const std::string name = case_of(grain);
    if (!begins(options, name)) continue;
    ++grains;
    const Program program = stencil(tasks_of(grain, options));
    const auto steps = static_cast<std::int64_t>(speed * static_cast<double>(grain.count()));
    const Body body([steps](std::size_t) { compute(steps); });
    const Race race = lineup.race(program, Start::kAtOnce, runs, body);
    add_points(race, static_cast<int>(program.operations.size()), cores, curves);
    sheet.add_with_ratios(to_rows(name, "efficiency", lineup, curves,
                                  [](const Curve& curve) { return curve.back().efficiency; }));
  }
  if (grains == kTenthsOfMicroseconds.size()) {
    sheet.add_with_ratios(to_rows("METG(50 %)", "ns", lineup, curves, metg));
  }
  sheet.show_as_curve("efficiency");
  sheet.show_as_curve(kRatio);
}

}  // namespace bench::engine
