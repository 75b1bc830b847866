// Does the engine hide copies behind computing? Runs each script as it is, serially, with a wait
// after every operation, and as streams and events that are written by hand, in turn, and compares
// what the busiest lane took with what the whole took: on the wall clock, and on the model clock of
// simulated GPUs.

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "overlap/by_hand/machine.h"
#include "overlap/programs.h"
#include "overlap/timeline.h"
#include "results.h"

namespace {

using bench::Row;
using bench::overlap::Overlap;
using bench::overlap::Program;
using bench::overlap::Script;
using bench::overlap::Step;
using bench::overlap::Waits;
using bench::overlap::by_hand::Machine;
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

/// What each program must reach on the model clock when it never waits.
constexpr double kLeastOfBound = 0.95;

/// One way to do a program's work, with all that it needs.
struct Contender {
  std::string name;
  std::unique_ptr<Script> script;
  Machine* machine = nullptr;  ///< null: it runs on the engine
};

struct Run {
  Overlap wall;
  Overlap model;
  std::vector<Step> timeline;
};

Run run_once(const Contender& contender, int steps) {
  heddle::Engine& engine = heddle::Engine::get();
  engine.wait_for_all();
  const std::vector<OpRecord> before = engine.trace();
  const auto begin = std::chrono::steady_clock::now();
  contender.script->run(steps);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::vector<OpRecord> records;
  if (contender.machine != nullptr) {
    records = contender.machine->take_records();
  } else {
    records = engine.trace();
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(before.size()));
  }
  Run run = {.wall = bench::overlap::overlap_of(records, wall.count()),
             .model = bench::overlap::modelled_overlap(before, records),
             .timeline = bench::overlap::modelled_timeline(records)};
  // The engine notes when work is enqueued on a real GPU, not when that begins with it.
  if (contender.machine == nullptr && run.timeline.empty()) run.wall.efficiency = 0;
  return run;
}

/// What one contender took, in all of its runs.
struct Measured {
  Measured(std::string_view program, std::string_view contender)
      : rows{row(program, contender, "wall seconds"),
             row(program, contender, "wall efficiency"),
             row(program, contender, "wall speed-up over each operation"),
             row(program, contender, "wall time over hand-written streams"),
             row(program, contender, "model seconds"),
             row(program, contender, "model efficiency"),
             row(program, contender, "model efficiency by the bound"),
             row(program, contender, "model speed-up over each operation")} {}

  /// `slow` is a run that waits after each operation, `by_hand` one without the engine or null.
  void add(const Run& run, const Run& slow, const Run* by_hand) {
    rows[0].samples.push_back(run.wall.wall);
    if (run.wall.efficiency > 0) rows[1].samples.push_back(run.wall.efficiency);
    rows[2].samples.push_back(slow.wall.wall / run.wall.wall);
    if (by_hand != nullptr) rows[3].samples.push_back(run.wall.wall / by_hand->wall.wall);
    if (run.timeline.empty()) return;  // a real GPU has no model, nor has what is done by hand
    rows[4].samples.push_back(run.model.wall);
    rows[5].samples.push_back(run.model.efficiency);
    rows[6].samples.push_back(run.model.of_bound);
    rows[7].samples.push_back(slow.model.wall / run.model.wall);
  }

  static Row row(std::string_view program, std::string_view contender, const char* metric) {
    return {std::string(program), std::string(contender), metric, {}};
  }

  std::array<Row, 8> rows;
};

/// The ways to do one program's work, and how they compare.
class Comparison {
 public:
  explicit Comparison(const Program& program) : program_(program) {
    add("heddle", Waits::When::kNever);
    if (program.by_hand != nullptr) {
      machine_ = bench::overlap::by_hand::make_machine();
      contenders_.push_back({"hand-written", program.by_hand(*machine_), machine_.get()});
    }
    add("serial steps", Waits::When::kEachStep);
    add("wait after each operation", Waits::When::kEachOperation);
  }

  /// Runs each of them once, so that threads, memory and kernels are there before the clock runs.
  /// Throws std::runtime_error if they do not have the same results.
  void verify(int steps) const {
    for (const Contender& contender : contenders_) {
      run_once(contender, steps);
      if (contender.script->results() == contenders_.front().script->results()) continue;
      throw std::runtime_error(std::string(program_.name) + ": \"" + contender.name +
                               "\" has other results than \"" + contenders_.front().name + '"');
    }
  }

  std::vector<Row> measure(const Options& options) const {
    std::vector<Measured> measured;
    for (const Contender& contender : contenders_) {
      measured.emplace_back(program_.name, contender.name);
    }
    Run reference;
    for (int i = 0; i < options.runs; ++i) {
      std::vector<Run> runs;
      for (const Contender& contender : contenders_) {
        runs.push_back(run_once(contender, options.steps));
      }
      const Run* const by_hand = machine_ != nullptr ? &runs[1] : nullptr;
      for (std::size_t k = 0; k < runs.size(); ++k) measured[k].add(runs[k], runs.back(), by_hand);
      if (options.check && i > 0) check(reference, runs.front());
      reference = std::move(runs.front());
    }
    std::vector<Row> rows;
    for (const Measured& contender : measured) {
      for (const Row& row : contender.rows) {
        if (!row.samples.empty()) rows.push_back(row);
      }
    }
    return rows;
  }

 private:
  void add(const char* name, Waits::When when) {
    contenders_.push_back({name, program_.on_heddle(Waits(when))});
  }

  /// Throws std::runtime_error if the model clock shows less overlap than the program must reach,
  /// or two runs differ on it.
  void check(const Run& first, const Run& second) const {
    const std::string name(program_.name);
    if (first.timeline != second.timeline) {
      throw std::runtime_error(name + ": two runs have different modelled timelines");
    }
    if (first.timeline.empty()) return;
    expect_at_least(program_.least_efficiency, "efficiency", first.model.efficiency);
    expect_at_least(kLeastOfBound, "efficiency by the bound", first.model.of_bound);
  }

  void expect_at_least(double least, const char* what, double value) const {
    if (value >= least) return;
    throw std::runtime_error(std::string(program_.name) + ": " + what + ' ' +
                             std::to_string(value) + " on the model clock, expected at least " +
                             std::to_string(least));
  }

  const Program& program_;
  std::unique_ptr<Machine> machine_;
  std::vector<Contender> contenders_;
};

void measure(const Options& options) {
  heddle::configure(
      {.gpus = options.gpus, .engine = {.trace = true, .compute_window = options.compute_window}});
  std::vector<Row> rows;
  for (const Program& program : bench::overlap::programs()) {
    if (program.name.find(options.program) == std::string_view::npos) continue;
    const Comparison comparison(program);
    comparison.verify(options.steps);
    const std::vector<Row> more = comparison.measure(options);
    rows.insert(rows.end(), more.begin(), more.end());
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
         "of the\nwhole run: 1 is a run that hides all the rest behind it. Where operations wait "
         "for each other in a\nchain that takes longer than any lane, not even streams by hand "
         "come "
         "to 1. Efficiency by the bound\ncounts that chain then: on the model clock, which knows "
         "it, and with as many lanes as one likes.\n"
         "Hand-written streams do the same with the same kernels, but without the engine: with "
         "streams\nand events, on simulated GPUs of heddle's device layer, on real ones of CUDA. "
         "The networks have\nnone. Before anything is measured all must have the same results.";
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
