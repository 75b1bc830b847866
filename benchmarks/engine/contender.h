#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "program.h"

namespace bench::engine {

/// How long a program took, from the first push.
struct Times {
  std::chrono::nanoseconds submit{0};  ///< until the last push has returned
  std::chrono::nanoseconds total{0};   ///< until the last operation has ended
};

/// A runtime that runs programs, on two workers beside the thread that pushes.
class Contender {
 public:
  static constexpr int kWorkers = 2;

  Contender() = default;
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  virtual std::string name() const = 0;
  /// Makes whatever of `program` can be made ahead of time and used again: variables and handles,
  /// not dependencies. `program` outlives the next calls of run().
  virtual void prepare(const Program& program) = 0;
  /// Pushes every operation of the prepared program, in order, and waits for all of them.
  virtual Times run(const Body& body) = 0;
};

// One file each.
std::unique_ptr<Contender> make_heddle();
std::unique_ptr<Contender> make_serial();          ///< plain calls: the floor
std::unique_ptr<Contender> make_tbb_task_group();  ///< with dependencies counted by hand
std::unique_ptr<Contender> make_tbb_flow_graph();  ///< a graph built, run once and thrown away
std::unique_ptr<Contender> make_libgomp();         ///< task depend
std::unique_ptr<Contender> make_starpu();

/// Those that this build has, heddle first.
std::vector<std::unique_ptr<Contender>> make_contenders();

}  // namespace bench::engine
