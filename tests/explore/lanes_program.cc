#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/engine.h"

#include "tests/explore/explored_options.h"
#include "tests/explore/explored_program.h"
#include "tests/explore/forked_child.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/random_program.h"

namespace heddle::explore {
namespace {

constexpr std::array kLanes = {Lane::kCompute, Lane::kCopyIn, Lane::kCopyOut, Lane::kBlocking};
constexpr int kMostRounds = 3;
constexpr int kMostRuns = 2;
/// One of each lane, and the two more that compute.
constexpr int kMostMeet = static_cast<int>(kLanes.size()) + 2;

class LanesProgram {
 public:
  LanesProgram(std::uint64_t seed, const EngineOptions& options)
      : random_(seed), engine_(options), lanes_(2 + below(static_cast<int>(kLanes.size()) - 1)) {
    const int variables = 1 + below(4);
    for (int i = 0; i < variables; ++i) variables_.push_back(engine_.new_variable());
  }

  std::string run() {
    const int rounds = 1 + below(kMostRounds);
    for (int i = 0; i < rounds; ++i) {
      push_some();
      if (below(2) == 0) run_recorded();
      if (below(2) == 0) engine_.wait_for_all();
      if (below(2) == 0) meet();
    }
    meet();
    engine_.wait_for_all();
    if (below(2) == 0) {
      push_some();
      engine_.shutdown();  // while threads go from lane to lane
    }
    if (is_too_wide_.load()) return "a lane ran more operations at a time than it has workers";
    const std::uint64_t ran = ran_.load();
    if (ran == pushed_) return {};
    return std::to_string(ran) + " of " + std::to_string(pushed_) + " operations ran";
  }

 private:
  int below(int limit) {
    random_ = support::mix(random_, 1);
    return static_cast<int>(random_ % static_cast<std::uint64_t>(limit));
  }
  Lane lane() { return kLanes[static_cast<std::size_t>(below(lanes_))]; }
  bool has_own_pool(Lane lane) const {
    const bool pooled = engine_.options().kind == EngineKind::kPooled;
    return lane != Lane::kCompute && (!pooled || lane == Lane::kBlocking);
  }
  /// 0: the one of the lane that computes.
  std::size_t pool_of(Lane lane) const {
    return has_own_pool(lane) ? static_cast<std::size_t>(lane) : 0;
  }
  const Var& variable() {
    return variables_[static_cast<std::size_t>(below(static_cast<int>(variables_.size())))];
  }
  template <class Fn>
  void push(Fn fn, const std::vector<Var>& mutates, Lane lane) {
    ++pushed_;
    const std::size_t pool = pool_of(lane);
    const auto body = [this, fn, pool] {
      const int workers = pool == 0 ? engine_.options().cpu_workers : 1;
      if (running_.at(pool).fetch_add(1) >= workers) is_too_wide_.store(true);
      ran_.fetch_add(1);
      fn();
      running_.at(pool).fetch_sub(1);
    };
    engine_.push(body, {}, mutates, {.lane = lane});
  }
  /// Small operations in a row that goes from lane to lane, or in one lane so many that it shows.
  void push_some() {
    const bool in_one = below(3) == 0;
    const Lane one = lane();
    const int count = std::min(in_one ? 34 : 1 + below(12), room_);
    room_ -= count;
    for (int i = 0; i < count; ++i) push([] {}, {variable()}, in_one ? one : lane());
  }
  /// Of a recording, which may have a graph if its operations share a queue, as in one lane.
  void run_recorded() {
    const int count = std::min(1 + below(12), room_ / kMostRuns);
    const bool in_one = below(4) != 0;
    const Lane one = lane();
    const Recording recording = engine_.record([&] {
      for (int i = 0; i < count; ++i) push([] {}, {variable()}, in_one ? one : lane());
    });
    const int runs = 1 + below(kMostRuns);
    room_ -= runs * count;
    for (int i = 0; i < runs; ++i) recording.run();
    pushed_ += static_cast<std::uint64_t>((runs - 1) * count);
  }
  void meet();

  std::uint64_t random_;
  Engine engine_;
  const int lanes_;  ///< that are used
  std::vector<Var> variables_;
  int room_ = kMostOperations - (kMostRounds + 1) * kMostMeet;  ///< for those that do not meet
  std::uint64_t pushed_ = 0;
  base::Atomic<std::uint64_t> ran_{0};
  std::array<base::Atomic<int>, 5> running_{};  ///< at the moment, by pool
  base::Atomic<bool> is_too_wide_{false};
  const Forkable forkable_{engine_, variables_};
};

/// As many operations as all lanes have workers run at a time: each of these has a thread, whatever
/// the threads were before.
void LanesProgram::meet() {
  std::vector<Lane> workers(static_cast<std::size_t>(engine_.options().cpu_workers - 1),
                            Lane::kCompute);
  for (int i = 0; i < lanes_; ++i) {
    const Lane lane = kLanes[static_cast<std::size_t>(i)];
    if (i == 0 || has_own_pool(lane)) workers.push_back(lane);
  }
  support::Gate all;
  base::Atomic<int> missing{static_cast<int>(workers.size())};
  while (!workers.empty()) {
    const auto next = workers.begin() + below(static_cast<int>(workers.size()));
    const auto come = [&] {
      if (missing.fetch_sub(1) == 1) all.open();
      all.wait();
    };
    push(come, {}, *next);
    workers.erase(next);
  }
  all.wait();
  engine_.wait_for_all();
}

}  // namespace

ExploredProgram lanes_program(std::uint64_t seed) {
  const EngineOptions options = explored_options(seed);
  return {"lanes of seed " + std::to_string(seed) + "; " + support::describe(options),
          [seed, options] { return LanesProgram(seed, options).run(); }};
}

}  // namespace heddle::explore
