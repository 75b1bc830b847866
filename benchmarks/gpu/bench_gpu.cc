// What heddle promises of a real GPU, beside the same work by hand with CUDA's runtime and cuBLAS.

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <heddle/heddle.h>

#include "command_line.h"
#include "gpu/questions.h"
#include "results.h"

namespace {

using bench::gpu::Question;
using bench::gpu::questions;
using bench::gpu::Settings;

struct CommandLine {
  Settings settings;
  std::set<std::string> questions;  ///< none: all
  std::string json;
};

void measure(const CommandLine& line) {
  if (heddle::num_physical_gpus() == 0) throw std::runtime_error("there is no CUDA GPU");
  heddle::configure({.gpus = "cuda:0"});
  bench::gpu::Sheet sheet;
  for (const Question& question : questions()) {
    if (!line.questions.empty() && !line.questions.contains(question.name)) continue;
    std::fprintf(stderr, "%s: %s\n", question.name, question.asks);
    question.answer(line.settings, sheet);
  }
  sheet.print();
  if (!line.json.empty()) bench::write_json(line.json, "gpu", sheet.rows());
}

constexpr const char* kHow =
    "The contenders of a case are measured in turn, and what comes out is checked. The table "
    "shows\nmedian, tenth and ninetieth percentile, and what is aimed at. Times are of the "
    "wall clock, from\nthe first call until the caller knows that the last piece of work has "
    "ended. The GPU is the first\none that CUDA shows; without one the program fails.";

int run_command_line(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Measures heddle on a CUDA GPU, beside the same work by hand.");
  app.footer(bench::describe_questions(questions()) + kHow);
  app.add_option("--question", line.questions, "Only these")
      ->check(CLI::IsMember(bench::names_of(questions())));
  app.add_option("--runs", line.settings.runs, "Of each contender")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--quick", line.settings.quick,
               "Two runs on little work: shows that everything runs, not how fast it is");
  app.add_option("--json", line.json, "Write the rows to this file, too");
  CLI11_PARSE(app, argc, argv);
  if (line.settings.quick) line.settings.runs = 2;
  measure(line);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_or_complain("bench_gpu", run_command_line, argc, argv);
}
