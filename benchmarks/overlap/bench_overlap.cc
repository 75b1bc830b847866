// Does the engine hide copies behind computing? Runs each script as it is, serially and with a wait
// after every operation, in turn, and compares what the busiest lane took with what the whole took:
// on the wall clock, and on the model clock of simulated GPUs.

#include <array>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "overlap/programs.h"
#include "overlap/timeline.h"
#include "results.h"

namespace {

using bench::Row;
using bench::overlap::Overlap;
using bench::overlap::Program;
using bench::overlap::Step;
using bench::overlap::Waits;
using heddle::OpRecord;

struct Options {
  /// Links and computing take about as long on the model clock as a core and its sleeps take.
  std::string gpus =
      "sim:2?h2d=250MB/s&d2h=250MB/s&peer=250MB/s&latency=20us&flops=60GFLOP/s&hbm=10GB/s";
  int runs = 5;
  int steps = 60;
  int compute_window = heddle::EngineOptions{}.compute_window;
  std::string program;
  bool quick = false;
  bool check = false;
  std::string json;
};

struct Contender {
  std::string_view name;
  Waits::When when;
};
constexpr std::array<Contender, 3> kContenders = {{
    {"heddle", Waits::When::kNever},
    {"serial steps", Waits::When::kEachStep},
    {"wait after each operation", Waits::When::kEachOperation},
}};

struct Run {
  Overlap wall;
  Overlap model;
  std::vector<Step> timeline;
};

Run run_once(const Program& program, int steps, Waits::When when) {
  heddle::Engine& engine = heddle::Engine::get();
  engine.wait_for_all();
  const std::size_t before = engine.trace().size();
  program.run(steps, Waits(when));
  engine.wait_for_all();
  std::vector<OpRecord> records = engine.trace();
  records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(before));
  return {.wall = bench::overlap::overlap_of(records),
          .model = bench::overlap::overlap_of(heddle::on_model_clock(records)),
          .timeline = bench::overlap::modelled_timeline(records)};
}

/// What one contender took, in all of its runs.
struct Measured {
  explicit Measured(std::string_view program, std::string_view contender)
      : rows{row(program, contender, "wall seconds"),
             row(program, contender, "wall efficiency"),
             row(program, contender, "wall speed-up over each operation"),
             row(program, contender, "model seconds"),
             row(program, contender, "model efficiency"),
             row(program, contender, "model speed-up over each operation")} {}

  /// `slow` is a run that waits after each operation.
  void add(const Run& run, const Run& slow) {
    rows[0].samples.push_back(run.wall.wall);
    rows[1].samples.push_back(run.wall.efficiency);
    rows[2].samples.push_back(slow.wall.wall / run.wall.wall);
    if (run.timeline.empty()) return;  // a real GPU has no model
    rows[3].samples.push_back(run.model.wall);
    rows[4].samples.push_back(run.model.efficiency);
    rows[5].samples.push_back(slow.model.wall / run.model.wall);
  }

  static Row row(std::string_view program, std::string_view contender, const char* metric) {
    return {std::string(program), std::string(contender), metric, {}};
  }

  std::array<Row, 6> rows;
};

/// Throws std::runtime_error if the model clock shows less overlap than the program must reach, or
/// two runs differ on it.
void check(const Program& program, const Run& first, const Run& second) {
  const std::string name(program.name);
  if (first.timeline != second.timeline) {
    throw std::runtime_error(name + ": two runs have different modelled timelines");
  }
  if (first.timeline.empty()) return;
  if (first.model.efficiency < program.least_efficiency) {
    throw std::runtime_error(name + ": efficiency " + std::to_string(first.model.efficiency) +
                             " on the model clock, expected at least " +
                             std::to_string(program.least_efficiency));
  }
}

void append_rows(const Program& program, const Options& options, std::vector<Row>& rows) {
  std::vector<Measured> measured;
  for (const Contender& contender : kContenders) {
    measured.emplace_back(program.name, contender.name);
  }
  Run reference;
  for (int i = 0; i < options.runs; ++i) {
    std::vector<Run> runs;
    for (const Contender& contender : kContenders) {
      runs.push_back(run_once(program, options.steps, contender.when));
    }
    for (std::size_t k = 0; k < runs.size(); ++k) measured[k].add(runs[k], runs.back());
    if (options.check && i > 0) check(program, reference, runs.front());
    reference = std::move(runs.front());
  }
  for (const Measured& contender : measured) {
    rows.insert(rows.end(), contender.rows.begin(), contender.rows.end());
  }
}

void measure(const Options& options) {
  heddle::configure(
      {.gpus = options.gpus, .engine = {.trace = true, .compute_window = options.compute_window}});
  std::vector<Row> rows;
  for (const Program& program : bench::overlap::programs()) {
    if (program.name.find(options.program) == std::string_view::npos) continue;
    // Threads, memory and kernels are there before the clock runs.
    run_once(program, 2, Waits::When::kNever);
    append_rows(program, options, rows);
  }
  bench::print_table(rows);
  if (!options.json.empty()) bench::write_json(options.json, "overlap", rows);
}

std::string describe_programs() {
  std::string text = "Programs:\n";
  for (const Program& program : bench::overlap::programs()) {
    text.append("  ").append(program.name).append(": ").append(program.summary).append("\n");
  }
  return text +
         "Efficiency is the time of the busiest lane of a GPU, which copies or computes, by that "
         "of the\nwhole run: 1 is a run that hides all the rest behind it.";
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Measures how much of the copying the engine hides behind computing.");
  app.footer(describe_programs());
  app.add_option("--gpus", options.gpus, "As HEDDLE_GPUS; at least two, real or simulated")
      ->capture_default_str();
  app.add_option("--runs", options.runs, "Of each contender")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Of each program")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--compute-window", options.compute_window,
                 "Operations that a compute stream holds issued, whose order is fixed by that")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--program", options.program, "Only programs with this in their names");
  app.add_flag("--quick", options.quick, "Two runs");
  app.add_flag("--check", options.check,
               "Fail if two runs differ on the model clock, or hide too little there");
  app.add_option("--json", options.json, "Write the rows to this file, too");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) options.runs = 2;
  measure(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_or_complain("bench_overlap", run_command_line, argc, argv);
}
