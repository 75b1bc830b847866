#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "heddle/engine.h"

#include "tests/faults/runs.h"
#include "tests/support/foreign_thread.h"

namespace heddle::faults {

/// Random operations of every sort for an engine, and how many of them it took: plain and
/// asynchronous ones, some that fail, that push others, or that end on another thread; runs of
/// recordings, deletions, clear_error and waits.
///
/// Thread safety: step() from any thread, each with a Random of its own. Outlives its engine.
class Load {
 public:
  /// With operations on so many GPUs, too.
  explicit Load(Engine& engine, CancelToken group = {}, int gpus = 0);

  /// One step. What it throws is no std::bad_alloc and no EngineStopped: these are counted.
  void step(Random& random);
  /// Drops the variables; nothing else may use the load any more but for counting.
  void drop_variables() { vars_.clear(); }

  /// Operations that got a sequence number.
  std::uint64_t accepted() const { return accepted_; }
  /// Those of them that are deletions, which are taken after shutdown, too.
  std::uint64_t deletions() const { return deletions_; }
  /// Calls that threw std::bad_alloc, EngineStopped.
  std::uint64_t without_memory() const { return without_memory_; }
  std::uint64_t stopped() const { return stopped_; }

 private:
  struct Body;

  template <class Call>
  void attempt(Call&& call, std::uint64_t operations = 1);
  template <class Wait>
  void wait(Wait&& wait);
  void push(Random& random);
  void push_async(Random& random);
  void push_and_delete(Random& random);
  void record_and_run(Random& random);
  PushOptions options(Random& random) const;
  const Var& any_var(Random& random) const;

  Engine& engine_;
  const CancelToken group_;
  std::vector<Device> gpus_;  // made before memory fails: the first one makes the table of all
  std::vector<Var> vars_;
  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> deletions_{0};
  std::atomic<std::uint64_t> without_memory_{0};
  std::atomic<std::uint64_t> stopped_{0};
  support::ForeignThread foreign_;
};

/// All operations that the report has seen.
std::uint64_t total(const ShutdownReport& report);

}  // namespace heddle::faults
