// Does the engine hide copies behind computing? Runs each script as it is, serially, with a wait
// after every operation, and as streams and events that are written by hand, in turn, and compares
// what the busiest lane took with what the whole took: on the wall clock, and on the model clock of
// simulated GPUs.

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "overlap/comparison.h"
#include "overlap/own_process.h"
#include "overlap/programs.h"
#include "results.h"

namespace {

using bench::Row;
using bench::overlap::Comparison;
using bench::overlap::Findings;
using bench::overlap::Program;
using bench::overlap::Sizes;

/// Links and computing take about as long on the model clock as a core and its sleeps take.
constexpr const char* kSimulated =
    "sim:2?h2d=250MB/s&d2h=250MB/s&peer=250MB/s&latency=20us&flops=60GFLOP/s&hbm=10GB/s";

/// On a real GPU a piece of work has to be large to take longer than it takes to enqueue.
constexpr Sizes kSizesOfSimulated{.side = 512};
constexpr Sizes kSizesOfReal{.side = 2048};

struct Options {
  std::string gpus;       ///< empty: kSimulated, and real ones if there are any
  std::int64_t side = 0;  ///< 0: as the kind of GPUs has it
  int runs = 5;
  int steps = 60;
  int compute_window = heddle::EngineOptions{}.compute_window;
  std::string program;
  bool quick = false;
  bool check = false;
  std::string json;
};

/// All programs on the GPUs that `gpus` says, from then on those of this process. One that fails
/// does not keep the others from being measured.
Findings measure_on(const std::string& gpus, const Options& options) {
  // A trace tells of simulated GPUs only when they were at work.
  const bool simulated = gpus.starts_with("sim:");
  heddle::configure(
      {.gpus = gpus, .engine = {.trace = simulated, .compute_window = options.compute_window}});
  if (heddle::num_gpus() < 2) {
    throw std::invalid_argument("--gpus " + gpus + ": expected at least two, cuda:0,cuda:0 are");
  }
  Sizes sizes = simulated ? kSizesOfSimulated : kSizesOfReal;
  if (options.side != 0) sizes.side = options.side;
  Findings findings;
  for (const Program& program : bench::overlap::programs()) {
    if (program.name.find(options.program) == std::string_view::npos) continue;
    const std::string name = std::string(program.name) + (simulated ? "" : " on " + gpus);
    try {
      Comparison comparison(program, sizes);
      comparison.verify(options.steps);
      const std::vector<Row> rows =
          comparison.measure(name, options.runs, options.steps, options.check);
      findings.rows.insert(findings.rows.end(), rows.begin(), rows.end());
    } catch (const std::exception& error) {
      findings.complaints.push_back(name + ": " + error.what());
    }
  }
  return findings;
}

/// Nothing without a real GPU.
Findings measure_on_real(const Options& options) {
  const int real = heddle::num_physical_gpus();
  if (real == 0) return {};
  return measure_on(real == 1 ? "cuda:0,cuda:0" : "cuda:0,cuda:1", options);
}

Findings measure_on_both(const Options& options) {
  // First, as this process must not have used heddle then.
  const Findings real =
      bench::overlap::in_own_process([&options] { return measure_on_real(options); });
  Findings all = measure_on(kSimulated, options);
  all.rows.insert(all.rows.end(), real.rows.begin(), real.rows.end());
  all.complaints.insert(all.complaints.end(), real.complaints.begin(), real.complaints.end());
  return all;
}

void measure(const Options& options) {
  const Findings findings =
      options.gpus.empty() ? measure_on_both(options) : measure_on(options.gpus, options);
  bench::print_table(findings.rows);
  if (!options.json.empty()) bench::write_json(options.json, "overlap", findings.rows);
  std::string complaints;
  for (const std::string& complaint : findings.complaints) complaints += "\n  " + complaint;
  if (!complaints.empty()) throw std::runtime_error("not all is well:" + complaints);
}

std::string describe_programs() {
  std::string text = "Programs:\n";
  for (const Program& program : bench::overlap::programs()) {
    text.append("  ").append(program.name).append(": ").append(program.summary).append("\n");
  }
  return text + R"(Efficiency is the time of the busiest lane of a GPU, which copies or computes,
by that of the whole run: 1 is a run that hides all the rest behind it. Where operations wait for
each other in a chain that takes longer than any lane, not even streams by hand come to 1.
Efficiency by the bound counts that chain then: on the model clock, which knows it, and with as
many lanes as one likes. On real GPUs the time of a lane is what its pieces of work take when each
runs alone.
Hand-written streams do the same with the same kernels, but without the engine: with streams and
events, on simulated GPUs of heddle's device layer, on real ones of CUDA. All must have the results
of the serial steps, before anything is measured and in the end.)";
}

std::string side_help() {
  return "Elements of a side of the matrices, by which all sizes go. Default: " +
         std::to_string(kSizesOfSimulated.side) + ", on real GPUs " +
         std::to_string(kSizesOfReal.side);
}

std::string multiple_of_eight(const std::string& text) {
  const bool digits =
      !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && std::stoi(text) > 0 && std::stoi(text) % 8 == 0) return {};
  return text + ": expected a multiple of 8 below 100000";
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Measures how much of the copying the engine hides behind computing.");
  app.footer(describe_programs());
  app.add_option("--gpus", options.gpus,
                 std::string("At least two, real or simulated, as in HEDDLE_GPUS. Default: ") +
                     kSimulated +
                     ", and also two real ones, or one shared by two, if there are any")
      ->envname("HEDDLE_GPUS");
  app.add_option("--side", options.side, side_help())->check(multiple_of_eight);
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
