// What an operation costs: heddle and other runtimes on the same lists of operations, interleaved.

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "contender.h"
#include "results.h"

namespace {

using bench::Row;
using bench::engine::Body;
using bench::engine::Contender;
using bench::engine::Program;
using bench::engine::Times;

struct Options {
  int operations = 20'000;
  int runs = 25;
  bool quick = false;
  bool verify_only = false;
  std::string program;
  std::string contender;
  std::string json;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

/// Throws if a contender runs an operation out of its turn, or not at all.
void verify(const Program& program, Contender& contender) {
  const Body body(program);
  contender.run(body);
  if (body.errors() == 0) return;
  throw std::runtime_error(contender.name() + ", " + program.name + ": " +
                           std::to_string(body.errors()) + " operations out of order");
}

double per_operation(std::chrono::nanoseconds time, const Program& program) {
  return static_cast<double>(time.count()) / static_cast<double>(program.operations.size());
}

/// Every contender in turn, `runs` times, with pauses in which threads fall asleep.
std::vector<Row> measure(const Program& program, Contenders& contenders, const Options& options) {
  std::vector<Row> totals;
  std::vector<Row> submits;
  std::vector<Row> ratios;
  for (const auto& contender : contenders) {
    contender->prepare(program);
    verify(program, *contender);
    totals.push_back({program.name, contender->name(), "ns per operation", {}});
    submits.push_back({program.name, contender->name(), "ns per push", {}});
    ratios.push_back({program.name, contender->name(), "heddle to it", {}});
  }
  if (options.verify_only) return {};
  const Body empty;
  for (int run = 0; run < options.runs; ++run) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const Times times = contenders[i]->run(empty);
      totals[i].samples.push_back(per_operation(times.total, program));
      submits[i].samples.push_back(per_operation(times.submit, program));
      ratios[i].samples.push_back(totals[0].samples.back() / totals[i].samples.back());
    }
  }
  std::vector<Row> rows = totals;
  rows.insert(rows.end(), submits.begin(), submits.end());
  rows.insert(rows.end(), ratios.begin() + 1, ratios.end());
  return rows;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void run(const Options& options) {
  Contenders contenders = bench::engine::make_contenders();
  std::erase_if(contenders, [&](const auto& c) { return !contains(c->name(), options.contender); });
  if (contenders.empty()) throw std::runtime_error("no contender " + options.contender);
  std::vector<Row> rows;
  for (const auto make :
       {bench::engine::independent, bench::engine::chain, bench::engine::write_then_reads,
        bench::engine::binary, bench::engine::stencil}) {
    const Program program = make(options.operations);
    if (!contains(program.name, options.program)) continue;
    const std::vector<Row> more = measure(program, contenders, options);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  if (options.verify_only) {
    std::puts("every contender ran every operation in its turn");
    return;
  }
  bench::print_table(rows);
  if (!options.json.empty()) bench::write_json(options.json, "engine", rows);
}

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Measures what an operation costs, beside other runtimes on the same operations.");
  app.add_option("--operations", options.operations, "Of each program")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--runs", options.runs, "Of each contender")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--program", options.program, "Only programs with this in their names");
  app.add_option("--contender", options.contender, "Only contenders with this in their names");
  app.add_flag("--quick", options.quick, "Nine runs");
  app.add_flag("--verify", options.verify_only,
               "Only check that every contender runs every operation in its turn");
  app.add_option("--json", options.json, "Write the rows to this file, too");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) options.runs = 9;
  run(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_or_complain("bench_engine", run_command_line, argc, argv);
}
