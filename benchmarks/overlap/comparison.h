#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "overlap/by_hand/machine.h"
#include "overlap/programs.h"
#include "overlap/timeline.h"
#include "results.h"

namespace bench::overlap {

/// One way to do a program's work, with all that it needs.
struct Contender {
  std::string name;
  std::unique_ptr<Script> script;
  by_hand::Machine* machine = nullptr;  ///< null: it runs on the engine
};

/// What came of running it once.
struct Run {
  Overlap wall;  ///< without an efficiency on a real GPU, which does not tell when it works
  Overlap model;
  std::vector<Step> timeline;  ///< empty unless the engine ran it on simulated GPUs
};

/// The ways to do one program's work on the GPUs of this process, and how they compare.
class Comparison {
 public:
  Comparison(const Program& program, const Sizes& sizes);

  /// Runs each of them once, so that threads, memory and kernels are there before the clock runs.
  /// Throws std::runtime_error if they do not have the results of the serial steps.
  void verify(int steps);

  /// Runs each of them `runs` times, in turn, and returns the rows for a case of that name. Throws
  /// std::runtime_error if they do not have the same results then, and with `check` also if two
  /// runs differ on the model clock, or hide too little there.
  std::vector<Row> measure(const std::string& name, int runs, int steps, bool check);

 private:
  void expect_equal_results() const;
  /// Runs all of them. On real GPUs, efficiency is by what the pieces of work take alone.
  std::vector<Run> run_each(int steps);
  void check_model(const Run& first, const Run& second) const;

  const Program& program_;
  const std::unique_ptr<by_hand::Machine> machine_;
  std::unique_ptr<Script> alone_;  // by hand, to time its pieces on real GPUs; else null
  std::array<Contender, 4> contenders_;
};

}  // namespace bench::overlap
