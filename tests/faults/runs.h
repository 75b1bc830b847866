#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/options.h"

namespace heddle::faults {

/// True in a full run: the environment has HEDDLE_FAULT_RUNS=full.
bool is_full_run();

/// How often a fault is provoked: `full` in a full run, else `quick`, and less under a sanitizer.
int runs(int quick, int full = 1000);

/// kThreaded and kPooled with 1, 2 and 8 workers in turn, and in turn with limits on what pends.
EngineOptions parallel_engine(std::uint64_t seed);

/// As parallel_engine(), with the engines without threads among them.
EngineOptions any_engine(std::uint64_t seed);

/// Numbers without a pattern, the same for the same seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next();
  /// 0 to `end` - 1.
  int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }
  bool one_in(int count) { return below(count) == 0; }
  std::chrono::microseconds pause(int longest_us) {
    return std::chrono::microseconds(below(longest_us));
  }

 private:
  const std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

/// Counts what came of a fault; a full run prints the counts and the time that it took.
class Tally {
 public:
  explicit Tally(std::string fault);
  ~Tally();
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  void add_run() { ++runs_; }
  void add(const std::string& what, std::uint64_t count = 1);

 private:
  const std::string fault_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t runs_ = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counts_;  ///< in the order of their first
};

/// Threads of this process.
int thread_count();
/// True once there are no more than `threads`: one that was joined may still be seen for a moment.
bool threads_fall_to(int threads);
/// Memory of this process that is in RAM.
std::int64_t resident_kib();
/// True if `now`, of resident_kib(), is more than `limit` above `before`. False under a sanitizer,
/// whose own memory grows.
bool is_more_than(std::int64_t limit, std::int64_t before, std::int64_t now);

}  // namespace heddle::faults
