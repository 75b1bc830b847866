#include "engine/stretch.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/base/spin_lock.h"
#include "engine/var_state.h"
#include "tests/relacy/simulate.h"

namespace heddle::relacy {
namespace {

constexpr std::size_t kArrivals = 4;
constexpr std::uint64_t kAllCovered = 1;

using Stretch = detail::BasicStretch<kArrivals>;

/// A worker that has begun a stretch, one that joins it, and a thread that dissolves it. Of the
/// arrivals two write one variable each, the third the first one's, and the last one's read both.
struct Shared : rl::test_suite<Shared, 3> {
  struct State {
    detail::VarState x{1, "x"};
    detail::VarState y{1, "y"};
    std::array<detail::Arrival, kArrivals> arrivals;
    detail::BasicArrivals<kArrivals>::Chunk chunk;
    Stretch stretch;
    std::array<detail::Operation, 2> operations;
    base::SpinLock lock;        ///< the ledger's
    bool is_dissolved = false;  ///< guarded by it
    Plain<int> x_writes{0};     ///< what the arrivals do
    Plain<int> y_writes{0};
    std::array<Plain<int>, kArrivals> runs;
  };
  std::unique_ptr<State> state = std::make_unique<State>();

  void before() {
    const auto names = [this](std::size_t i, std::initializer_list<detail::VarState*> mutates,
                              std::initializer_list<detail::VarState*> reads) {
      detail::Arrival& arrival = state->arrivals[i];
      arrival.mutate_count = static_cast<std::uint8_t>(mutates.size());
      arrival.read_count = static_cast<std::uint8_t>(reads.size());
      auto* const end = std::copy(mutates.begin(), mutates.end(), arrival.variables.begin());
      std::copy(reads.begin(), reads.end(), end);
      state->runs[i] = 0;
    };
    names(0, {&state->x}, {});
    names(1, {&state->y}, {});
    names(2, {&state->x}, {});
    names(3, {}, {&state->x, &state->y});
    state->stretch.begin(state->arrivals, state->chunk, nullptr);
    state->stretch.enter(state->operations[0]);
  }
  void thread(unsigned index) {
    if (index == 0) return work(0);
    if (index == 1) {
      const std::size_t place = join();
      if (place != Stretch::kPlaces) work(place);
      return;
    }
    const std::lock_guard held(state->lock);
    dissolve();
  }
  std::size_t join() {
    const std::lock_guard held(state->lock);
    return state->is_dissolved ? Stretch::kPlaces : state->stretch.enter(state->operations[1]);
  }
  void work(std::size_t place) {
    std::size_t last = kArrivals;
    for (;;) {
      detail::Arrival* arrival = nullptr;
      const Stretch::Claim claim = state->stretch.claim(place, kAllCovered, arrival);
      if (claim == Stretch::Claim::kEnd || claim == Stretch::Claim::kLeave) break;
      if (claim != Stretch::Claim::kSome) {
        base::yield();
        continue;
      }
      last = static_cast<std::size_t>(arrival - state->arrivals.data());
      run(last);
    }
    leave(place, last);
  }
  void leave(std::size_t place, std::size_t last) {
    const std::lock_guard held(state->lock);
    if (!state->is_dissolved) {
      state->stretch.rest(place);
      dissolve();
    }
    const Stretch::Left left = state->stretch.leave(place);
    if (left.is_operation) check(last != kArrivals, "an operation of who has run nothing");
  }
  /// As a thread with the ledger's lock that asks for a variable.
  void dissolve() {
    if (std::exchange(state->is_dissolved, true)) return;
    const std::size_t claimed = state->stretch.dissolve();
    for (std::size_t i = 0; i != kArrivals; ++i) {
      bool is_running = false;
      for (std::size_t place = 0; place != Stretch::kPlaces; ++place) {
        if (state->stretch.running_at(place) != i) continue;
        is_running = true;
        check(&state->stretch.become_operation(place) == &state->operations[place], "whose?");
      }
      if (i >= claimed) {
        check(!is_running, "runs unclaimed");
        state->runs[i] = state->runs[i] + 1;
      } else if (!is_running) {
        check(state->runs[i] == 1, "ended and not run");
      }
    }
  }
  void run(std::size_t i) {
    if (i == 0 || i == 2) {
      check(state->x_writes == (i == 0 ? 0 : 1), "x written out of turn");
      state->x_writes = state->x_writes + 1;
    } else if (i == 1) {
      state->y_writes = 1;
    } else {
      check(state->x_writes == 2 && state->y_writes == 1, "read out of turn");
    }
    state->runs[i] = state->runs[i] + 1;
  }
  void after() {
    for (Plain<int>& runs : state->runs) check(runs == 1, "not run once");
  }
};

}  // namespace

TEST_CASE("stretch: workers that share it run each arrival once, after those it conflicts with") {
  require_holds<Shared>(100'000);
}

TEST_CASE("stretch: every weaker order is found") {
  require_weaker_found<Shared>("engine/stretch.h", 20'000);
}

}  // namespace heddle::relacy
