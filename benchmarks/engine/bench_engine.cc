// What the engine costs: heddle and other runtimes on the same lists of operations, interleaved.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "count.h"
#include "programs/program.h"
#include "questions/apart.h"
#include "questions/memory.h"
#include "questions/questions.h"
#include "results.h"

namespace {

using bench::engine::Question;
using bench::engine::questions;

struct CommandLine {
  bench::engine::Options options;
  std::set<std::string> questions;  ///< none: all
  bool verify_only = false;
  std::string count;
  std::string footprint;
  std::string json;
};

std::string describe_programs() {
  std::string text = "The programs of most of them:\n";
  for (const bench::engine::MakeProgram make : bench::engine::kPrograms) {
    text += "  " + make(1).name + "\n";
  }
  return text;
}

void run(const CommandLine& line) {
  std::vector<bench::Row> rows;
  for (const Question& question : questions()) {
    if (!line.questions.empty() && !line.questions.contains(question.name)) continue;
    std::fprintf(stderr, "%s: %s\n", question.name, question.asks);
    std::vector<bench::Row> measured = bench::engine::answer_apart(question, line.options);
    std::move(measured.begin(), measured.end(), std::back_inserter(rows));
  }
  if (line.verify_only) {
    std::puts("every contender ran every operation in its turn");
    return;
  }
  if (rows.empty()) throw std::runtime_error("no case has that in its name");
  if (!line.json.empty()) bench::write_json(line.json, "engine", rows);
}

int run_command_line(int argc, char** argv) {
  CommandLine line;
  bench::engine::Options& options = line.options;
  CLI::App app("Measures the engine, beside other runtimes on the same operations.");
  app.footer(bench::describe_questions(questions()) + "\n" + describe_programs());
  app.add_option("--question", line.questions, "Only these")
      ->check(CLI::IsMember(bench::names_of(questions())));
  app.add_option("--operations", options.operations, "Of each program")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--runs", options.runs, "Of each contender")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--program", options.program, "Only cases with this in their names");
  app.add_option("--contender", options.contender, "Only contenders with this in their names");
  app.add_flag("--quick", options.quick, "Five runs, a quarter of the operations, short curves");
  app.add_flag("--verify", line.verify_only,
               "Only check that every contender runs every operation in its turn");
  app.add_option("--json", line.json, "Write the rows to this file, too");
  app.add_option("--count", line.count,
                 "Only run this program once, for count_instructions.sh to look on");
  app.add_option("--footprint", line.footprint,
                 "Only print the bytes that a pending operation of this program takes: from the "
                 "heap, and in memory");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.runs = 5;
    options.operations /= 4;
  }
  if (line.verify_only) options.runs = 0;
  if (!line.count.empty()) {
    bench::engine::run_for_counting(line.count, options);
  } else if (!line.footprint.empty()) {
    bench::engine::print_footprint(line.footprint, options);
  } else {
    run(line);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_or_complain("bench_engine", run_command_line, argc, argv);
}
