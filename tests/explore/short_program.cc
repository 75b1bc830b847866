#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/engine.h"

#include "engine/base/thread.h"
#include "tests/explore/explored_options.h"
#include "tests/explore/explored_program.h"
#include "tests/explore/forked_child.h"
#include "tests/support/engines.h"
#include "tests/support/gate.h"
#include "tests/support/random_program.h"

namespace heddle::explore {
namespace {

constexpr int kMostRounds = 4;
/// Pushed in a round, but for the short ones.
constexpr int kMostOthers = 2;

/// Each variable stands for a number of writes. An operation knows how many it must find.
class ShortProgram {
 public:
  ShortProgram(std::uint64_t seed, const EngineOptions& options) : random_(seed), engine_(options) {
    const int variables = 1 + below(kVariables);
    for (int i = 0; i < variables; ++i) variables_.push_back(engine_.new_variable());
  }

  std::string run() {
    push_short(6);  // that the engine learns from
    const int rounds = 1 + below(kMostRounds);
    for (int i = 0; i < rounds; ++i) run_round();
    engine_.wait_for_all();
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (engine_.version(variables_[i]) != pushed_writes_[i]) return "a version that is wrong";
      if (writes_[i].load() != pushed_writes_[i]) return "writes are lost";
    }
    if (ran_.load() != pushed_) return "operations are lost";
    return out_of_turn_.load() == 0 ? "" : "operations ran out of turn";
  }

 private:
  static constexpr int kVariables = 3;

  int below(int limit) {
    random_ = support::mix(random_, 1);
    return static_cast<int>(random_ % static_cast<std::uint64_t>(limit));
  }
  std::size_t variable() {
    return static_cast<std::size_t>(below(static_cast<int>(variables_.size())));
  }

  /// Reads one variable and writes another one, or only the one or the other; then does `fn`.
  template <class Fn>
  void push(Fn fn) {
    const std::size_t read = variable();
    const std::size_t written = variable();
    const int kind = below(4);
    const bool reads = kind != 0 && (kind == 1 || read != written);
    const bool writes = kind != 1;
    std::vector<Var> reads_list;
    std::vector<Var> mutates_list;
    if (reads) reads_list.push_back(variables_[read]);
    if (writes) mutates_list.push_back(variables_[written]);
    const std::uint64_t read_expected = pushed_writes_[read];
    const std::uint64_t written_expected = pushed_writes_[written];
    const auto body = [=, this] {
      if (reads) expect(read, read_expected);
      if (writes) expect(written, written_expected);
      fn();
      if (reads) expect(read, read_expected);
      if (writes) writes_[written].fetch_add(1);
      ran_.fetch_add(1);
    };
    if (writes) ++pushed_writes_[written];
    ++pushed_;
    engine_.push(body, reads_list, mutates_list, {.device = device()});
  }
  Device device() {
    const int gpus = num_gpus();
    const int chosen = gpus == 0 ? 0 : below(gpus + 1);
    return chosen == 0 ? Device::cpu() : Device::gpu(chosen - 1);
  }
  void expect(std::size_t variable, std::uint64_t writes) {
    if (writes_[variable].load() != writes) out_of_turn_.fetch_add(1);
  }
  void push_short(int most) {
    const int count = std::min(1 + below(most), room_);
    room_ -= count;
    for (int i = 0; i < count; ++i) push([] {});
  }
  void run_round();
  void hold();

  std::uint64_t random_;
  Engine engine_;
  std::vector<Var> variables_;
  int room_ = kMostOperations - kMostRounds * kMostOthers;  ///< for short ones
  std::uint64_t pushed_ = 0;
  std::array<std::uint64_t, kVariables> pushed_writes_{};
  std::array<base::Atomic<std::uint64_t>, kVariables> writes_{};
  base::Atomic<std::uint64_t> ran_{0};
  base::Atomic<std::uint64_t> out_of_turn_{0};
  const Forkable forkable_{engine_, variables_};
};

void ShortProgram::run_round() {
  push_short(12);
  switch (below(6)) {
    case 0:
      engine_.wait_for_var(variables_[variable()]);
      break;
    case 1:
      engine_.wait_for_all();
      break;
    case 2:  // what is not plain
      engine_.push([] {}, {}, {}, {.name = "named"});
      break;
    case 3:
      push([this] { engine_.push([this] { ran_.fetch_add(1); }, {}, {}); });
      ++pushed_;
      break;
    case 4:
      hold();
      break;
    default:
      break;
  }
}

/// One of the operations takes long, until those that do not wait for it have run.
void ShortProgram::hold() {
  support::Gate gate;
  const bool has_room = engine_.options().max_pending > 100;
  // On a stream it may go before older ones, which have to stand behind it then and keep their
  // places: of few there may be none for who opens the gate.
  const bool by_operation =
      engine_.options().cpu_workers > 1 && below(2) == 0 && (has_room || num_gpus() == 0);
  push([&gate] { gate.wait(); });
  if (has_room) push_short(4);
  if (by_operation) {
    ++pushed_;
    engine_.push(
        [this, &gate] {
          ran_.fetch_add(1);
          gate.open();
        },
        {}, {});
  } else {
    gate.open();
  }
  engine_.wait_for_all();
}

}  // namespace

ExploredProgram short_program(std::uint64_t seed) {
  constexpr std::array<std::size_t, 4> kLimits = {65536, 65536, 65536, 4};
  EngineOptions options = explored_options(seed);
  options.max_pending = kLimits[support::mix(seed, 13) % kLimits.size()];
  return {"short operations of seed " + std::to_string(seed) + "; " + support::describe(options) +
              ", max_pending " + std::to_string(options.max_pending),
          [seed, options] { return ShortProgram(seed, options).run(); }};
}

}  // namespace heddle::explore
